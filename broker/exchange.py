"""The calls of one connection: started, answered, given up, and all ended when the connection is down.

Nothing here awaits: each method does what is to be done at once, by trying to send without blocking, changing
`broker.pending`, and waking the tasks concerned. `broker.link` runs the tasks that call it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import trio

from broker.errors import CallCancelled, DeadlineExceeded, GatewayError, InvalidArgument
from broker.frame_writer import FrameWriter
from broker.link_down import LinkDown, socket_failed
from broker.parking import wake
from broker.pending import OpenCall, PendingCalls
from broker.relay_frames import Chunk, Result, encode_call, encode_cancel
from broker.spans import OK, OpenSpan
from broker.trace import current_tool
from native_host.framing import BadFrame

CALL_CEILING_S: Final = 240.0
"""Our own ceiling for one call (design, M-03); a caller's deadline beyond it is brought down to it. A stream has none
here: its ceiling is one of silence, moved by each piece that arrives (`broker.limits.STREAM_IDLE_S`)."""
DIRECT_CALLS: Final = 2
"""With more calls open than this, their frames leave together: latency no longer counts, system calls do."""


class Exchange:
    """`on_down` is called once, when the exchange goes down."""

    # Invariant: once `down` is set no call is open, nothing is sent, and nothing changes any more.

    def __init__(self, writer: FrameWriter, on_down: Callable[[], None]) -> None:
        self._writer = writer
        self._on_down = on_down
        self._pending = PendingCalls()
        self._alarm = trio.CancelScope()
        self.down: LinkDown | None = None

    def __repr__(self) -> str:
        state = "up" if self.down is None else f"down: {self.down.message}"
        return f"<Exchange {state}, {len(self._pending)} calls>"

    def start(
        self,
        op: str,
        params: dict[str, object],
        *,
        notebook: str | None,
        account: str,
        deadline_s: float,
        traceparent: str,
        is_stream: bool = False,
    ) -> OpenCall:
        """Send a call frame and return the open call (or one that ended already, if the connection broke just now).

        Raises: the reason why nothing was sent, with `started` False: the error of the link that is down,
            DeadlineExceeded, RateLimited with too many open calls, InvalidArgument when `params` cannot be sent.
        """
        if self.down is not None:
            raise self.down.error(started=False)
        now = trio.current_time()
        if not is_stream:
            deadline_s = min(deadline_s, now + CALL_CEILING_S)
        if deadline_s <= now:
            raise DeadlineExceeded(f"No time was left to send the {op} call to the browser.", started=False)
        rpc = params.get("rpc")
        span = OpenSpan.request(f"{op} {rpc}" if isinstance(rpc, str) else op, traceparent)
        call = self._pending.open(op, deadline_s, span, is_stream=is_stream)
        try:
            payload = encode_call(
                call.id,
                op,
                params,
                notebook=notebook,
                account=account,
                not_after_ms=int((time.time() + deadline_s - now) * 1000),
                traceparent=span.traceparent,
                tool=current_tool.get(),
            )
            self._writer.send_nowait(payload, call.id, is_urgent=len(self._pending) <= DIRECT_CALLS)
        except (TypeError, BadFrame) as error:
            refusal = InvalidArgument(f"The {op} call cannot be sent to the browser: {error}", started=False)
            self._pending.settle(call, refusal)
            raise refusal from error
        except OSError as error:
            down = socket_failed(error)
            self._pending.settle(call, down.error(started=False))
            self.go_down(down)
        if deadline_s < self._alarm.deadline:
            self._alarm.deadline = deadline_s
        return call

    def forget(self, call: OpenCall) -> None:
        """The caller is gone: if the call is still open, end it and let the worker know."""
        if call.outcome is None:
            self._give_up(call, "caller cancelled", CallCancelled("The caller left."))

    def take_result(self, result: Result) -> None:
        """End the call that the frame answers. Raises: BadHostFrame for an id that was never handed out."""
        call = self._pending.maybe_resolve(result)
        if call is not None:
            result.hops["relay_ms"] = max(0.0, call.span.elapsed_ms - result.hops.get("worker_ms", 0.0))
            call.span.end(OK if result.error is None else result.error.code, result.hops)
            wake(call)

    def take_chunk(self, chunk: Chunk) -> None:
        """Add a piece to its stream. Raises: BadHostFrame for an id that was never handed out, or of no stream."""
        call = self._pending.maybe_add_chunk(chunk)
        if call is not None:
            if isinstance(call.outcome, GatewayError):
                call.span.end(call.outcome.code)
                self.send(encode_cancel(call.id, call.outcome.message))
            wake(call)

    def send(self, payload: bytes) -> None:
        """Send a frame that is no call; a connection that breaks on it goes down."""
        if self.down is not None:
            return
        try:
            self._writer.send_nowait(payload)
        except OSError as error:
            self.go_down(socket_failed(error))

    async def end_late_calls(self) -> None:
        """End each call at its deadline, for as long as the exchange is up: one alarm for all, not a timer per call."""
        while self.down is None:
            with trio.CancelScope(deadline=self._pending.next_deadline()) as self._alarm:
                await trio.sleep_forever()
            for call in self._pending.past_deadline(trio.current_time()):
                text = f"The browser did not end the {call.op} call within its deadline."
                self._give_up(call, "deadline", DeadlineExceeded(text))

    def go_down(self, down: LinkDown) -> None:
        """End every open call now. The first reason stays."""
        if self.down is not None:
            return
        self.down = down
        for call in self._pending.reject_all(self._error_at_the_end):
            assert isinstance(call.outcome, GatewayError)
            call.span.end(call.outcome.code)
            wake(call)
        self._on_down()

    def _error_at_the_end(self, call: OpenCall) -> GatewayError:
        assert self.down is not None
        never_left = self._writer.withdraw(call.id)
        return self.down.error(started=not never_left, is_stream=call.chunks is not None)

    def _give_up(self, call: OpenCall, reason: str, error: GatewayError) -> None:
        """End the call from this side: take its frame back if none of it has left, else tell the worker."""
        error.started = not self._writer.withdraw(call.id)
        self._pending.settle(call, error)
        call.span.end(error.code)
        if error.started:
            self.send(encode_cancel(call.id, reason))
        wake(call)
