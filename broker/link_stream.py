"""One answer stream as its reader sees it: pieces of text, then the closing facts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import trio

from broker.parking import park
from broker.pending import OpenCall
from broker.relay_frames import Result
from broker.replies import StreamEnd, stream_end_of


class LinkStream:
    """Implements `broker.companion.AnswerChunks`. For one task."""

    # Invariant: _end is set exactly when the iteration has ended without an error.

    def __init__(self, call: OpenCall) -> None:
        self._call = call
        self._result: Result | None = None
        self._end: StreamEnd | None = None

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """Return the next piece. What had arrived before a failure comes first, then the error.

        Raises: StreamSevered, DeadlineExceeded, and whatever the worker reports.
        """
        await trio.lowlevel.checkpoint()
        while True:
            data = self._call.take_chunk()
            if data is not None:
                return data
            if self._call.outcome is not None:
                break
            await park(self._call)
        self._result = self._call.result()
        self._end = stream_end_of(self._result.value)
        raise StopAsyncIteration

    def _ended(self) -> StreamEnd:
        if self._end is None:
            raise RuntimeError("read the answer stream to its end first")
        return self._end

    @property
    def status(self) -> int:
        return self._ended().status

    @property
    def conversation(self) -> str | None:
        return self._ended().conversation

    @property
    def retry_after_s(self) -> float | None:
        return self._ended().retry_after_s

    @property
    def hops(self) -> dict[str, float]:
        self._ended()
        assert self._result is not None
        return self._result.hops
