"""Targets of a browser (pages, workers): find them, wait for them, attach and detach, evaluate script in them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import attrs
import trio

from cdp.connection import Connection, Session
from cdp.errors import CdpError, EvaluationFailed
from cdp.messages import JsonObject, list_field, object_field, text_field

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
    result = await connection.call("Target.getTargets")
    return [_target_info(row) for row in list_field(result, "targetInfos")]


async def wait_for_target(connection: Connection, accepts: Callable[[TargetInfo], bool]) -> TargetInfo:
    """Return the first target that `accepts` says yes to, now or as soon as one appears or changes its URL."""
    with connection.events("Target.targetCreated", "Target.targetInfoChanged") as events:
        await connection.call("Target.setDiscoverTargets", {"discover": True})
        # The browser announces existing targets only when discovery is switched on for the first time.
        for target in await get_targets(connection):
            if accepts(target):
                return target
        async for event in events:
            target = _target_info(event.params.get("targetInfo"))
            if accepts(target):
                return target
    raise AssertionError("an EventStream ends by an error only")


@asynccontextmanager
async def attached(connection: Connection, target_id: str) -> AsyncGenerator[Session]:
    """Attach to a target for the length of the block.

    An attached session keeps a service worker alive and hides lifecycle faults, so the detach is made even when the
    block is cancelled (shielded, one second), and a target that is gone by then is no error.
    """
    result = await connection.call("Target.attachToTarget", {"targetId": target_id, "flatten": True})
    session = connection.session(text_field(result, "sessionId"))
    try:
        yield session
    finally:
        with trio.move_on_after(DETACH_TIMEOUT_S, shield=True):
            with suppress(CdpError):  # the target or the connection may be gone, and the session with it
                await connection.call("Target.detachFromTarget", {"sessionId": session.session_id})


async def evaluate(session: Session, expression: str) -> object:
    """Evaluate script, await its promise, and return its value as JSON.

    Raises:
        EvaluationFailed: it threw or its promise was rejected.
    """
    result = await session.call(
        "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
    )
    if "exceptionDetails" in result:
        raise EvaluationFailed(_exception_text(object_field(result, "exceptionDetails")))
    return object_field(result, "result").get("value")


def js_literal(value: object) -> str:
    """Return a JavaScript literal for a JSON value, safe to put into an expression."""
    return json.dumps(value)


def _exception_text(details: JsonObject) -> str:
    if "exception" in details:
        exception = object_field(details, "exception")
        description = exception.get("description", exception.get("value"))
        if description is not None:
            return str(description)
    return text_field(details, "text")


def _target_info(row: object) -> TargetInfo:
    info = object_field({"targetInfo": row}, "targetInfo")
    return TargetInfo(
        text_field(info, "targetId"), text_field(info, "type"), text_field(info, "url"), text_field(info, "title")
    )
