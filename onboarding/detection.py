"""Looking at what onboarding has to work with: the administrator's policies, and the companion's socket."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, cast

import attrs
import trio

from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, BadFrame, FrameDecoder, encode_frame
from native_host.paths import companion_sockets
from native_host.protocol import EXTENSION_ID, HOST_NAME, MAX_BROKER_FRAME_BYTES, V_MAX, V_MIN

POLICY_FOLDERS: Final = (
    Path("/etc/chromium/policies/managed"),
    Path("/etc/opt/chrome/policies/managed"),
    Path("/etc/opt/edge/policies/managed"),
    Path("/etc/brave/policies/managed"),
)
"""Where browsers on Linux read mandatory policies (https://support.google.com/chrome/a/answer/9027408)."""

WELCOME_TIMEOUT_S: Final = 5.0

Policies = Mapping[str, object]


def read_policies(folders: Iterable[Path] = POLICY_FOLDERS) -> dict[str, object]:
    """Return all mandatory policies of this machine; a file that cannot be read is passed over, as browsers do."""
    found: dict[str, object] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.json")):
            try:
                stored: object = json.loads(file.read_bytes())
            except (OSError, ValueError):
                continue
            if isinstance(stored, dict):
                found |= cast("dict[str, object]", stored)
    return found


def host_policy_problem(policies: Policies) -> str | None:
    """Return the policy that keeps our native host from starting, or None."""
    if HOST_NAME in _list(policies, "NativeMessagingAllowlist"):
        blocked = None
    else:
        blocked = _blocking(policies, "NativeMessagingBlocklist", HOST_NAME)
    if policies.get("NativeMessagingUserLevelHosts") is False:
        return "NativeMessagingUserLevelHosts"
    return blocked


def extension_policy_problem(policies: Policies) -> str | None:
    """Return the policy that keeps our extension from being loaded, or None."""
    if EXTENSION_ID in _list(policies, "ExtensionInstallAllowlist"):
        return None
    if _settings_block(policies):
        return "ExtensionSettings"
    return _blocking(policies, "ExtensionInstallBlocklist", EXTENSION_ID)


def _settings_block(policies: Policies) -> bool:
    settings = policies.get("ExtensionSettings")
    if not isinstance(settings, dict):
        return False
    by_id = cast("dict[str, object]", settings)
    for name in (EXTENSION_ID, "*"):
        rule = by_id.get(name)
        if isinstance(rule, dict):
            mode = cast("dict[str, object]", rule).get("installation_mode", "allowed")
            return mode in ("blocked", "removed")
    return False


def _blocking(policies: Policies, name: str, ours: str) -> str | None:
    return name if {"*", ours} & set(_list(policies, name)) else None


def _list(policies: Policies, name: str) -> list[str]:
    value = policies.get(name)
    return [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


@attrs.frozen
class Greeting:
    """What a native host says of itself and of what is behind it, in its `welcome` (`native_host/protocol.py`)."""

    welcome: Mapping[str, object]

    @property
    def host_build(self) -> str:
        host = self.welcome.get("host")
        return str(cast("dict[str, object]", host).get("build")) if isinstance(host, dict) else "unknown"


async def maybe_companion(home: Path) -> dict[str, object] | None:
    """Return the `welcome` of the first companion that answers and has its extension, or None."""
    for socket in companion_sockets(home):
        with trio.move_on_after(WELCOME_TIMEOUT_S):
            try:
                welcome = await _welcome(socket, wants_extension=True)
            except (OSError, trio.BrokenResourceError, BadFrame):
                continue  # of a host that ended
            if welcome is not None:
                return welcome
    return None


async def greet(socket: Path) -> Greeting | None:
    """Return the first `welcome` of the host that listens there, with or without an extension behind it, or None."""
    with trio.move_on_after(WELCOME_TIMEOUT_S):
        try:
            welcome = await _welcome(socket, wants_extension=False)
        except (OSError, trio.BrokenResourceError, BadFrame):
            return None
        return None if welcome is None else Greeting(welcome)
    return None


async def _welcome(socket: Path, *, wants_extension: bool) -> dict[str, object] | None:
    client = {"name": "notebook-gateway onboard", "version": BUILD}
    hello = {"type": "hello", "v_min": V_MIN, "v_max": V_MAX, "build": BUILD, "client": client, "pid": os.getpid()}
    async with await trio.open_unix_socket(os.fspath(socket)) as stream:
        await stream.send_all(encode_frame(BROKER_HEADER, json.dumps(hello).encode(), MAX_BROKER_FRAME_BYTES))
        decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
        while data := await stream.receive_some(65536):
            decoder.feed_untrusted(data)
            while (payload := decoder.maybe_next_frame()) is not None:
                frame: object = json.loads(payload)
                fields = cast("dict[str, object]", frame) if isinstance(frame, dict) else {}
                if fields.get("type") == "welcome" and (fields.get("extension") or not wants_extension):
                    return fields
    return None
