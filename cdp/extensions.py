"""Chrome extensions over CDP: load an unpacked one, visit its worker, start a worker that stopped.

Every visit to a worker attaches and detaches again: an attached session keeps a worker alive and would hide lifecycle
faults (measured). The worker's target is announced before ``chrome.*`` exists in it, so callers say what "ready" means.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import trio

from cdp.connection import Connection, Session
from cdp.errors import CallFailed, CdpError, SessionDetached
from cdp.messages import text_field
from cdp.polling import until
from cdp.targets import TargetInfo, attached, evaluate, get_targets, wait_for_target

METHOD_NOT_FOUND: Final = -32601
NOT_ALLOWED: Final = -32000
STARTS_BY_ITSELF_S: Final = 3.0
READY_WITHIN_S: Final = 3.0


class ExtensionNotLoaded(CdpError):
    """The browser did not load the extension. `by_hand` says whether a person could still load it on its page."""

    by_hand = False


class LoadingNotAllowed(ExtensionNotLoaded):
    """Loading over CDP is not served: too old, not on this transport, or forbidden by a policy (case C-092)."""

    by_hand = True


class WrongExtensionId(ExtensionNotLoaded):
    """It got another id than expected; whatever trusts the id would refuse it."""


class WorkerNeverAppeared(ExtensionNotLoaded):
    """It was loaded, but its worker did not come up in time."""


def is_worker_of(extension_id: str, target: TargetInfo) -> bool:
    """Whether a target is the service worker of this extension."""
    return target.type == "service_worker" and target.url.startswith(f"chrome-extension://{extension_id}/")


async def load_unpacked(connection: Connection, folder: Path, expected_id: str) -> None:
    """Load an unpacked extension; it is gone after a restart of the browser.

    Raises:
        LoadingNotAllowed: this browser, or this transport, does not offer it.
        WrongExtensionId: the manifest's `key` gives another id.
        ExtensionNotLoaded: the browser refused the folder; the message has its reason.
    """
    try:
        result = await connection.call("Extensions.loadUnpacked", {"path": str(folder)})
    except CallFailed as error:
        reason = f"the browser did not load {folder}: {error.message} ({error.code})"
        if error.code == METHOD_NOT_FOUND or (error.code == NOT_ALLOWED and "allowed" in error.message.lower()):
            raise LoadingNotAllowed(reason) from None
        raise ExtensionNotLoaded(reason) from None
    extension_id = text_field(result, "id")
    if extension_id != expected_id:
        raise WrongExtensionId(f"the extension in {folder} got the id {extension_id}, expected {expected_id}")


@asynccontextmanager
async def worker_session(connection: Connection, extension_id: str, is_ready: str) -> AsyncGenerator[Session]:
    """Attach to the extension's worker, once the script `is_ready` yields true in it, for the length of the block.

    The caller owns the deadline; a worker that stops meanwhile is waited for again.
    """
    while True:
        target = await _wait_for_worker(connection, extension_id)
        async with AsyncExitStack() as stack:
            try:
                session = await stack.enter_async_context(attached(connection, target.id))
                # A worker that is replaced under its target never answers what the old one was asked.
                with trio.move_on_after(READY_WITHIN_S) as patience:
                    await until(partial(evaluate, session, is_ready))
                if patience.cancelled_caught:
                    continue
            except (SessionDetached, CallFailed):
                # A worker that stopped between two steps starts anew, with another target.
                if target.id in {listed.id for listed in await get_targets(connection)}:
                    raise
                continue
            yield session
            return


async def evaluate_in_worker(connection: Connection, extension_id: str, is_ready: str, expression: str) -> object:
    """Evaluate script in the worker, await its promise, return its JSON value; attaches and detaches."""
    async with worker_session(connection, extension_id, is_ready) as session:
        return await evaluate(session, expression)


async def is_worker_running(connection: Connection, extension_id: str) -> bool:
    """Whether the browser lists the extension's worker now; looks without attaching."""
    return any(is_worker_of(extension_id, target) for target in await get_targets(connection))


async def start_worker(connection: Connection, extension_id: str) -> bool:
    """Start the extension's worker from any page's session; False when there is no page to ask.

    A page on its way out is no error: the caller looks whether the worker came, and asks again.
    """
    pages = [target for target in await get_targets(connection) if target.type == "page"]
    for page in pages[:1]:
        with suppress(CdpError):
            async with attached(connection, page.id) as session:
                await session.call("ServiceWorker.enable", {})
                scope = f"chrome-extension://{extension_id}/"
                await session.call("ServiceWorker.startWorker", {"scopeURL": scope})
    return bool(pages)


async def _wait_for_worker(connection: Connection, extension_id: str) -> TargetInfo:
    """Return the worker's target; a worker that Chrome does not start by itself is started.

    That happens under load, when the extension was loaded in this profile before: Chrome then knows its worker and
    waits for an event that wakes it.
    """
    while True:
        with trio.move_on_after(STARTS_BY_ITSELF_S):
            return await wait_for_target(connection, partial(is_worker_of, extension_id))
        await start_worker(connection, extension_id)
