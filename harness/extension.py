"""The extension as the harness sees it, over CDP: load it, configure it, talk to its worker, stop it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import trio

import native_host
from cdp.connection import Connection, Session
from cdp.errors import CallFailed, CdpError
from cdp.extensions import ExtensionNotLoaded, LoadingNotAllowed, WrongExtensionId, is_worker_of, load_unpacked
from cdp.extensions import worker_session as extension_worker_session
from cdp.polling import until
from cdp.targets import evaluate, get_targets, js_literal
from harness.errors import ChainFailed
from native_host.protocol import EXTENSION_ID

EXTENSION_FOLDER: Final = Path(native_host.__file__).resolve().parents[1] / "extension"

RELOADS_WITHIN_S: Final = 5.0
OLD_WORKER: Final = "harnessOldWorker"

# The worker's target is announced before `chrome.*` is installed and before its modules have run: ask again until both.
_IS_READY: Final = (
    "Boolean(globalThis.chrome?.runtime?.id && globalThis.ensureNativePort && globalThis.gatewaySettings)"
)


async def load_extension(connection: Connection, folder: Path = EXTENSION_FOLDER) -> None:
    """Load the unpacked extension; it is gone after a restart of the browser.

    Raises:
        ChainFailed: the browser refuses, or gives it another id than the one that the native host admits.
    """
    try:
        await load_unpacked(connection, folder, EXTENSION_ID)
    except ExtensionNotLoaded as error:
        raise ChainFailed("extension", f"{error}. {_next_step(error)}") from None


def _next_step(error: ExtensionNotLoaded) -> str:
    match error:
        case LoadingNotAllowed():
            return "It is too old, or a policy forbids it; name Chromium in NOTEBOOK_GATEWAY_BROWSER."
        case WrongExtensionId():
            return "Restore `key` in manifest.json."
        case _:
            return "Reinstall notebook-gateway, or mend the file that it names."


def worker_session(connection: Connection) -> AbstractAsyncContextManager[Session]:
    """Attach to the extension's worker, once its own globals are there, for the length of the block."""
    return extension_worker_session(connection, EXTENSION_ID, _IS_READY)


async def evaluate_in_worker(connection: Connection, expression: str) -> object:
    """Evaluate script in the worker, await its promise, return its JSON value; attaches and detaches."""
    async with worker_session(connection) as session:
        return await evaluate(session, expression)


def settings_expression(account: str | None, notebooks: Sequence[str] | str) -> str:
    """Return the script that sets what only the person may change: the account and the extension's own allowlist.

    `notebooks` is a list of ids, or "*" for all.
    """
    value = notebooks if isinstance(notebooks, str) else list(notebooks)
    return f"gatewaySettings.set({js_literal({'account': account, 'notebooks': value})})"


async def stop_worker(connection: Connection) -> None:
    """Stop the worker the way Chrome would, without a session on it, and return when its target is gone."""
    targets = [target for target in await get_targets(connection) if is_worker_of(EXTENSION_ID, target)]
    for target in targets:
        with suppress(CallFailed):
            await connection.call("Target.closeTarget", {"targetId": target.id})
    await until(partial(_are_gone, connection, {target.id for target in targets}))


async def reload_extension(connection: Connection) -> None:
    """Reload the extension as its person would; returns when the new worker is ready.

    The old worker is marked, because neither its target's id nor the end of the call tells the two apart: a call may
    stay without an answer when its worker goes away under it.
    """
    await evaluate_in_worker(connection, f"globalThis.{OLD_WORKER} = true")
    while True:
        with trio.move_on_after(RELOADS_WITHIN_S), suppress(CdpError):
            await evaluate_in_worker(connection, "void chrome.runtime.reload()")
        with trio.move_on_after(RELOADS_WITHIN_S), suppress(CdpError):
            await until(partial(evaluate_in_worker, connection, f"globalThis.{OLD_WORKER} !== true"))
            return


async def _are_gone(connection: Connection, target_ids: set[str]) -> bool:
    return target_ids.isdisjoint(target.id for target in await get_targets(connection))
