"""From a tool's call to a write of the journal, alike for all writing tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.journal_rows import Request, payload_hash
from broker.mutations import Result, StillRunning, Write, keep_nothing
from broker.session import Session, ToolCall


async def make_request(
    session: Session,
    notebook_id: str,
    tool: str,
    key: str,
    payload: Mapping[str, object],
    fingerprint: str,
    call: ToolCall,
) -> Request:
    """Name a write. `payload` is everything that decides what is written; see `Request` for `fingerprint`."""
    return Request(
        account=(await session.config.get()).account.lower(),
        tool=tool,
        key=key,
        notebook_id=notebook_id,
        payload_hash=payload_hash(notebook_id, payload),
        fingerprint=fingerprint,
        traceparent=call.ctx.traceparent,
    )


async def carry_out(
    session: Session, request: Request, write: Write, call: ToolCall, *, release: Callable[[], None] = keep_nothing
) -> Result:
    """Carry a write out and return the facts of its result, or of the running form.

    Raises: as `Mutations.carry_out`.
    """
    outcome = await session.mutations.carry_out(request, write, call.say_stage, release=release)
    return outcome.as_result() if isinstance(outcome, StillRunning) else outcome
