"""Frames that the host writes itself. Pure."""

from __future__ import annotations

from typing import Final

from native_host.build import BUILD
from native_host.messages import encode
from native_host.protocol import V_MAX, V_MIN
from native_host.worker_state import Extension

UPGRADE: Final = "pip install --upgrade notebook-gateway"


def welcome(v: int, host_pid: int, extension: Extension | None) -> bytes:
    """Answer a `hello`; sent again whenever the worker says `ready`."""
    about: dict[str, object] | None = None
    if extension is not None:
        about = {"build": extension.build, "id": extension.extension_id, "profile": extension.profile}
    account = extension.account if extension else None
    host: dict[str, object] = {"build": BUILD, "pid": host_pid}
    return encode({"type": "welcome", "v": v, "host": host, "extension": about, "account": account})


def failed_result(
    call_id: int, code: str, message: str, *, started: bool, detail: dict[str, object] | None = None
) -> bytes:
    """End a call on the host's own account. `started` is False only if the call never left the host."""
    error = {"code": code, "message": message, "detail": detail or {}, "started": started}
    return encode({"type": "result", "id": call_id, "ok": False, "error": error})


def protocol_error(code: str, message: str, conn: int | None = None) -> bytes:
    """Say that the peer broke the protocol; with `conn` on the Chrome leg, without on the broker leg."""
    address: dict[str, object] = {} if conn is None else {"conn": conn}
    return encode({**address, "type": "error", "code": code, "message": message})


def broker_skew(v_min: int, v_max: int, build: str) -> str:
    """Name both builds and what mends the difference between a broker and this host."""
    is_broker_older = v_max < V_MIN
    older, restart = ("broker", "the MCP client") if is_broker_older else ("native host", "Chrome")
    return (
        f"broker build {build:.40} speaks protocol {v_min}-{v_max}, native host build {BUILD} speaks {V_MIN}-{V_MAX}; "
        f"the {older} is the older one: run `{UPGRADE}`, then restart {restart}"
    )


def extension_skew(extension: Extension) -> str:
    """Name both builds and what mends the difference between the extension and this host."""
    is_extension_older = extension.v_max < V_MIN
    mend = "reload the extension at chrome://extensions" if is_extension_older else "restart Chrome"
    return (
        f"extension build {extension.build:.40} speaks protocol {extension.v_min}-{extension.v_max}, native host build "
        f"{BUILD} speaks {V_MIN}-{V_MAX}: run `{UPGRADE}`, then {mend}"
    )
