"""The open calls of one connection: ids, the one result of each, chunks in order, deadlines, and the end of all.

Pure: no I/O, no clock, no awaiting. Each method changes the state and returns the calls whose owners have to be woken;
`broker.link` does the waking. The same idea as puppeteer's CallbackRegistry.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from broker.errors import GatewayError, RateLimited, StreamSevered
from broker.relay_frames import BadHostFrame, Chunk, Result
from broker.wire_errors import error_of_result
from native_host.protocol import MAX_OPEN_CALLS_PER_CONNECTION

if TYPE_CHECKING:
    import trio

    from broker.spans import OpenSpan

MAX_STREAM_QUEUE_CHARS = 8 * 1024 * 1024
"""What one stream may hold unread here. The longest recorded answer stream is far below 1 MiB; the host severs a broker
that leaves 16 MiB unread, so ours must be the smaller number: it costs one stream and not all of them."""


class OpenCall:
    """One call between its frame and its end. Only `PendingCalls` changes it; `task` is its owner's."""

    # Invariant: `outcome` is set once. Invariant: chunks come only while `outcome` is None, so all of them precede it.
    __slots__ = ("chunks", "deadline", "id", "next_seq", "op", "outcome", "queued_chars", "span", "task")

    def __init__(self, call_id: int, op: str, deadline: float, span: OpenSpan, *, is_stream: bool) -> None:
        self.id = call_id
        self.op = op
        self.deadline = deadline
        self.span = span
        self.outcome: Result | GatewayError | None = None
        self.chunks: deque[str] | None = deque() if is_stream else None
        self.next_seq = 0
        self.queued_chars = 0
        self.task: trio.lowlevel.Task | None = None
        """The task that waits for this call, if one does."""

    def __repr__(self) -> str:
        state = "open" if self.outcome is None else type(self.outcome).__name__
        return f"<OpenCall {self.id} {self.op} {state}>"

    def result(self) -> Result:
        """Return the result of a call that has ended well. Raises: GatewayError, the reason why it has not."""
        if isinstance(self.outcome, GatewayError):
            raise self.outcome
        assert self.outcome is not None, "the call is still open"
        if self.outcome.error is not None:
            raise error_of_result(self.op, self.outcome.error)
        return self.outcome

    def take_chunk(self) -> str | None:
        """Remove and return the oldest unread chunk, or None when there is none right now."""
        if not self.chunks:
            return None
        data = self.chunks.popleft()
        self.queued_chars -= len(data)
        return data


class PendingCalls:
    """Hands out ids, settles each call exactly once, and forgets it then."""

    # Invariant: every call in _open has outcome None; an id that was handed out and is not in _open is settled.

    def __init__(self, limit: int = MAX_OPEN_CALLS_PER_CONNECTION) -> None:
        self._limit = limit
        self._last_id = 0
        self._open: dict[int, OpenCall] = {}

    def __repr__(self) -> str:
        return f"<PendingCalls {len(self._open)} open, last id {self._last_id}>"

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(self._open.values())

    def open(self, op: str, deadline: float, span: OpenSpan, *, is_stream: bool = False) -> OpenCall:
        """Start a call under a new id. `span` is the owner's measure of it, kept and never looked at.

        Raises: RateLimited when the connection has its limit of open calls; the host would answer the same.
        """
        if len(self._open) >= self._limit:
            raise RateLimited(
                f"{self._limit} calls are open in the browser, which is the limit of one session",
                hint="Wait for one of your open calls to end.",
                details={"retry_after_s": 1},
                started=False,
            )
        self._last_id += 1
        call = self._open[self._last_id] = OpenCall(self._last_id, op, deadline, span, is_stream=is_stream)
        return call

    def settle(self, call: OpenCall, outcome: Result | GatewayError) -> bool:
        """End the call; return False (and change nothing) when it had ended before."""
        if self._open.pop(call.id, None) is None:
            return False
        call.outcome = outcome
        return True

    def maybe_resolve(self, result: Result) -> OpenCall | None:
        """Take a result frame; return its call, or None when that was cancelled, timed out or answered before.

        Raises: BadHostFrame for an id that was never handed out.
        """
        call = self._open.pop(result.id, None)
        if call is None:
            self._check_was_handed_out(result.id)
            return None
        call.outcome = result
        return call

    def maybe_add_chunk(self, chunk: Chunk) -> OpenCall | None:
        """Take a chunk frame; return its call, or None when that has ended.

        A chunk out of order, or one too many to hold, ends its stream: the call comes back with an outcome, and the
        worker must be told.

        Raises: BadHostFrame for an id that was never handed out, or of a call that is no stream.
        """
        call = self._open.get(chunk.id)
        if call is None:
            self._check_was_handed_out(chunk.id)
            return None
        if call.chunks is None:
            raise BadHostFrame(f"chunk for a call of op {call.op}, which has none")
        if chunk.seq != call.next_seq:
            self.settle(call, StreamSevered(f"answer stream lost a piece: expected {call.next_seq}, got {chunk.seq}"))
        elif call.queued_chars + len(chunk.data) > MAX_STREAM_QUEUE_CHARS:
            text = f"answer stream was not read: {call.queued_chars} characters waited, {MAX_STREAM_QUEUE_CHARS} may"
            self.settle(call, StreamSevered(text))
        else:
            call.next_seq += 1
            call.queued_chars += len(chunk.data)
            call.chunks.append(chunk.data)
        return call

    def _check_was_handed_out(self, call_id: int) -> None:
        if not 0 < call_id <= self._last_id:
            raise BadHostFrame(f"answer to call {call_id}, which was never made")

    def next_deadline(self) -> float:
        """Return the earliest deadline of an open call; infinity when there is none."""
        return min((call.deadline for call in self._open.values()), default=math.inf)

    def past_deadline(self, now: float) -> list[OpenCall]:
        """Return the open calls whose deadline is not after `now`; the caller settles them."""
        return [call for call in self._open.values() if call.deadline <= now]

    def reject_all(self, make_error: Callable[[OpenCall], GatewayError]) -> list[OpenCall]:
        """End every open call, each with the error made for it, and return them."""
        calls = list(self._open.values())
        for call in calls:
            self.settle(call, make_error(call))
        return calls
