"""One running question: pieces of text from the companion in, states of the answer out.

The shell around `broker.answer_stream`: it waits, keeps the deadlines, and knows what an HTTP status says about pieces
that were no answer at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

import trio

from broker.answer_stream import AnswerDecoder, AnswerState
from broker.calls import CallContext
from broker.companion import AnswerChunks
from broker.errors import CompanionOffline, DeadlineExceeded, GatewayError, StreamSevered, TabDiscarded
from broker.limits import STREAM_IDLE_S, STREAM_TAIL_S
from broker.requests import STREAM
from broker.rpc_status import http_error
from broker.wire_errors import is_paused


class AnswerUpdates:
    """Async iterator over the states of one answer; the last one is final. For one task.

    Raises (while iterating): StreamSevered with `details.partial_text` when the answer breaks off or stalls, and what
        else `AnswerDecoder` says about the stream.
    """

    def __init__(self, chunks: AnswerChunks, ctx: CallContext) -> None:
        self._chunks = chunks
        self._ctx = ctx
        self._decoder = AnswerDecoder()
        self._ready: deque[AnswerState] = deque()
        # _over: no more states will come. _facts_known: the stream itself ended, so its closing facts can be read.
        self._over = False
        self._facts_known = False

    def __repr__(self) -> str:
        return f"<AnswerUpdates {self._decoder!r} {'over' if self._over else 'running'}>"

    @property
    def conversation(self) -> str | None:
        """The id to send with the next question to this notebook; None before the end, or when it got lost."""
        return self._chunks.conversation if self._facts_known else None

    @property
    def partial_text(self) -> str:
        """The answer's Markdown so far."""
        return self._decoder.partial_text

    async def start(self) -> None:
        """Wait for the first state. A request that the service refused as a whole is refused here.

        Raises: StaleToken and the other errors of `http_error`; those of the class.
        """
        while not self._ready and not self._over:
            await self._advance()

    def __aiter__(self) -> AsyncIterator[AnswerState]:
        return self

    async def __anext__(self) -> AnswerState:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            await self._advance()
        return self._ready.popleft()

    async def _advance(self) -> None:
        piece = await self._maybe_next_piece()
        if piece is None:
            self._take_end()
            return
        try:
            states = self._decoder.feed_untrusted(piece)
        except GatewayError:
            # Text that is no answer may be the body of an HTTP error, whose status comes last and says more.
            if not self._decoder.has_begun:
                await self._read_tail()
                self._refuse_http_error()
            raise
        if self._decoder.is_final:
            await self._read_tail()
            self._over = True
        self._ready.extend(states)

    async def _maybe_next_piece(self) -> str | None:
        with trio.move_on_at(min(self._ctx.deadline, trio.current_time() + STREAM_IDLE_S)):
            try:
                return await self._chunks.__anext__()
            except StopAsyncIteration:
                return None
            except StreamSevered as error:
                raise self._decoder.severed(error.message, error.details) from error
            except (CompanionOffline, TabDiscarded, DeadlineExceeded) as error:
                if not error.started or is_paused(error):
                    raise
                raise self._decoder.severed(error.message, {**error.details, "cause": str(error.code)}) from error
        if self._ctx.remaining_s() == 0:
            raise self._decoder.severed("the time for this question is used up")
        raise self._decoder.severed(f"nothing arrived for {STREAM_IDLE_S:g} s")

    async def _read_tail(self) -> None:
        """Read on to the closing facts; without them in time, or with an error, they are simply not known."""
        with trio.move_on_after(STREAM_TAIL_S):
            try:
                async for _ in self._chunks:
                    pass
            except GatewayError:
                return
            self._take_closing_facts()

    def _take_end(self) -> None:
        self._over = True
        self._take_closing_facts()
        self._refuse_http_error()
        self._ready.extend(self._decoder.end())

    def _take_closing_facts(self) -> None:
        self._facts_known = True
        self._ctx.add_hops(self._chunks.hops)

    def _refuse_http_error(self) -> None:
        if self._facts_known and self._chunks.status != 200:
            raise http_error(STREAM, self._chunks.status, self._chunks.retry_after_s)
