"""Targets of a browser (pages, workers): find them, wait for them, attach and detach, evaluate script in them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import attrs
import trio

from cdp.connection import Connection, Session
from cdp.domains import runtime, target
from cdp.domains.protocol import decode_untrusted
from cdp.errors import CdpError, EvaluationFailed

DETACH_TIMEOUT_S: Final = 1.0


@attrs.frozen
class TargetInfo:
    """One row of ``Target.getTargets``. `type` is Chrome's word: page, service_worker, background_page, tab …"""

    id: str
    type: str
    url: str
    title: str


async def get_targets(connection: Connection) -> list[TargetInfo]:
    """Return all targets that the browser lists now."""
    result = await connection.execute(target.GetTargets())
    return [_target_info(info) for info in result.targetInfos]


async def wait_for_target(connection: Connection, accepts: Callable[[TargetInfo], bool]) -> TargetInfo:
    """Return the first target that `accepts` says yes to, now or as soon as one appears or changes its URL."""
    with connection.events(target.TargetCreated.method, target.TargetInfoChanged.method) as events:
        await connection.execute(target.SetDiscoverTargets(discover=True))
        # The browser announces existing targets only when discovery is switched on for the first time.
        for found in await get_targets(connection):
            if accepts(found):
                return found
        async for event in events:
            found = _target_info(decode_untrusted(target.TargetCreated, event.params, event.method).targetInfo)
            if accepts(found):
                return found
    raise AssertionError("an EventStream ends by an error only")


@asynccontextmanager
async def attached(connection: Connection, target_id: str) -> AsyncGenerator[Session]:
    """Attach to a target for the length of the block.

    An attached session keeps a service worker alive and hides lifecycle faults, so the detach is made even when the
    block is cancelled (shielded, one second), and a target that is gone by then is no error.
    """
    session = connection.session((await connection.execute(target.AttachToTarget(target_id))).sessionId)
    try:
        yield session
    finally:
        with trio.move_on_after(DETACH_TIMEOUT_S, shield=True):
            with suppress(CdpError):  # the target or the connection may be gone, and the session with it
                await connection.execute(target.DetachFromTarget(session.session_id))


async def evaluate(session: Session, expression: str) -> object:
    """Evaluate script, await its promise, and return its value as JSON.

    Raises:
        EvaluationFailed: it threw or its promise was rejected.
    """
    result = await session.execute(runtime.Evaluate(expression, awaitPromise=True, returnByValue=True))
    if result.exceptionDetails is not None:
        raise EvaluationFailed(_exception_text(result.exceptionDetails))
    return result.result.value


def js_literal(value: object) -> str:
    """Return a JavaScript literal for a JSON value, safe to put into an expression."""
    return json.dumps(value)


def _exception_text(details: runtime.ExceptionDetails) -> str:
    thrown = details.exception
    if thrown is not None:
        said = thrown.value if thrown.description is None else thrown.description
        if said is not None:
            return str(said)
    return details.text


def _target_info(info: target.TargetInfo) -> TargetInfo:
    return TargetInfo(info.targetId, info.type, info.url, info.title)
