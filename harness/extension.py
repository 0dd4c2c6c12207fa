"""The extension as the harness sees it, over CDP: load it, configure it, talk to its worker, stop it.

Every visit to the worker attaches and detaches again: an attached session keeps a worker alive and would hide lifecycle
faults (measured).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import trio

import native_host
from cdp.connection import Connection, Session
from cdp.errors import CallFailed, CdpError, SessionDetached
from cdp.messages import text_field
from cdp.targets import TargetInfo, attached, evaluate, get_targets, js_literal, wait_for_target
from harness.errors import ChainFailed
from harness.polling import until
from native_host.protocol import EXTENSION_ID

EXTENSION_FOLDER: Final = Path(native_host.__file__).resolve().parents[1] / "extension"

EXTENSION_ORIGIN: Final = f"chrome-extension://{EXTENSION_ID}/"
STARTS_BY_ITSELF_S: Final = 3.0
READY_WITHIN_S: Final = 3.0
RELOADS_WITHIN_S: Final = 5.0
OLD_WORKER: Final = "harnessOldWorker"
METHOD_NOT_FOUND: Final = -32601
NOT_ALLOWED: Final = -32000

# The worker's target is announced before `chrome.*` is installed and before its modules have run: ask again until both.
_IS_READY: Final = (
    "Boolean(globalThis.chrome?.runtime?.id && globalThis.ensureNativePort && globalThis.gatewaySettings)"
)


def is_worker(target: TargetInfo) -> bool:
    """Whether a target is the service worker of our extension."""
    return target.type == "service_worker" and target.url.startswith(EXTENSION_ORIGIN)


async def load_extension(connection: Connection, folder: Path = EXTENSION_FOLDER) -> None:
    """Load the unpacked extension; it is gone after a restart of the browser.

    Raises:
        ChainFailed: the browser refuses, or gives it another id than the one that the native host admits.
    """
    try:
        result = await connection.call("Extensions.loadUnpacked", {"path": str(folder)})
    except CallFailed as error:
        raise ChainFailed("extension", f"the browser did not load {folder}: {_why_not_loaded(error)}") from None
    extension_id = text_field(result, "id")
    if extension_id != EXTENSION_ID:
        raise ChainFailed(
            "extension", f"it got the id {extension_id}, expected {EXTENSION_ID}; restore `key` in manifest.json"
        )


def _why_not_loaded(error: CallFailed) -> str:
    if error.code in (METHOD_NOT_FOUND, NOT_ALLOWED):
        return (
            f"{error.message} ({error.code}). It is too old, or a policy forbids it; name Chromium or Chrome for "
            "Testing in NOTEBOOK_GATEWAY_BROWSER."
        )
    return f"{error.message} ({error.code}). Reinstall notebook-gateway, or mend the file that it names."


@asynccontextmanager
async def worker_session(connection: Connection) -> AsyncGenerator[Session]:
    """Attach to the extension's worker, once its own globals are there, for the length of the block."""
    while True:
        target = await _wait_for_worker(connection)
        async with AsyncExitStack() as stack:
            try:
                session = await stack.enter_async_context(attached(connection, target.id))
                # A worker that is replaced under its target never answers what the old one was asked.
                with trio.move_on_after(READY_WITHIN_S) as patience:
                    await until(partial(evaluate, session, _IS_READY))
                if patience.cancelled_caught:
                    continue
            except (SessionDetached, CallFailed):
                # A worker that stopped between two steps starts anew, with another target.
                if target.id in {listed.id for listed in await get_targets(connection)}:
                    raise
                continue
            yield session
            return


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
    targets = [target for target in await get_targets(connection) if is_worker(target)]
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


async def _wait_for_worker(connection: Connection) -> TargetInfo:
    """Return the worker's target; a worker that Chrome does not start by itself is started.

    That happens under load, when the extension was loaded in this profile before: Chrome then knows its worker and
    waits for an event that wakes it.
    """
    while True:
        with trio.move_on_after(STARTS_BY_ITSELF_S):
            return await wait_for_target(connection, is_worker)
        pages = [target for target in await get_targets(connection) if target.type == "page"]
        if pages:
            with suppress(CdpError):  # the extension may be between two lives, or the page on its way out
                async with attached(connection, pages[0].id) as session:
                    await session.call("ServiceWorker.enable", {})
                    await session.call("ServiceWorker.startWorker", {"scopeURL": EXTENSION_ORIGIN})


async def _are_gone(connection: Connection, target_ids: set[str]) -> bool:
    return target_ids.isdisjoint(target.id for target in await get_targets(connection))
