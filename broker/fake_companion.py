"""A companion without a browser: it answers from bodies that a test, or a try-out, hands it.

Shipped, because every layer above the companion is tested with it and it is held to the same conformance tests as the
real one. `reply_body` and `stream_body` write the service's framing, so that answers can be given as values.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import trio
from attrs import define, field, frozen

from broker.companion import AnswerChunks, Identity, RpcReply
from broker.errors import DeadlineExceeded, GatewayError
from broker.fake_uploads import FakeUploads
from broker.utf16 import utf16_length

PREFIX: Final = ")]}'\n\n"
BOOKKEEPING: Final[list[object]] = [["di", 41], ["af.httprm", 41, "-7000000000000000001", 3]]

Answer = str | RpcReply | GatewayError
"""What one request gets: a body (status 200), a whole reply, or an error to raise."""


@frozen
class Request:
    """One request the fake received. `rpc_id` is ``identity``, ``status`` or ``stream`` for those calls."""

    rpc_id: str
    params: object = None
    notebook: str | None = None
    refresh: bool = False


@frozen
class Stall:
    """In a stream's script: nothing more arrives."""


@frozen
class StreamScript:
    """One answer stream: its pieces in order, and how it ends. A GatewayError among the pieces is raised there."""

    pieces: Sequence[str | GatewayError | Stall] = ()
    status: int = 200
    conversation: str | None = "c0ffee00-0000-4000-8000-000000000001"
    retry_after_s: float | None = None


@define(eq=False)
class FakeCompanion(FakeUploads):
    """Implements `broker.companion.Companion`.

    `replies` has a script per RPC id; each request takes the next entry and the last one is used for good. `streams` is
    the same for questions. Uploads are kept in memory (`FakeUploads`).
    """

    account: str = "ada@example.com"
    replies: dict[str, list[Answer]] = field(factory=dict[str, "list[Answer]"])
    streams: list[StreamScript] = field(factory=list[StreamScript])
    requests: list[Request] = field(factory=list[Request])
    identity_error: GatewayError | None = None

    def answer(self, rpc_id: str, *script: Answer) -> None:
        """Set what requests for `rpc_id` get, from now on."""
        self.replies[rpc_id] = list(script)

    def sent(self, rpc_id: str) -> list[Request]:
        """Return the requests for one RPC id so far."""
        return [request for request in self.requests if request.rpc_id == rpc_id]

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        await self._arrive(Request("identity", refresh=refresh), deadline_s)
        if self.identity_error is not None:
            raise self.identity_error
        return Identity(self.account, "https://notebook.google.com", "fake-build")

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        await self._arrive(Request("status"), deadline_s)
        return {
            "build": "fake",
            "account": self.account,
            "notebooks": "*",
            "tab": None,
            "open_calls": 0,
            "paused": False,
        }

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        await self._arrive(Request(rpc_id, _as_sent(params), notebook), deadline_s)
        script = self.replies.get(rpc_id)
        if not script:
            raise AssertionError(f"the fake companion has no answer for {rpc_id}")
        entry = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(entry, GatewayError):
            raise entry
        return entry if isinstance(entry, RpcReply) else RpcReply(200, entry, hops={"fetch_ms": 1.0})

    @asynccontextmanager
    async def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[AnswerChunks]:
        await self._arrive(Request("stream", _as_sent(params), notebook), deadline_s)
        if not self.streams:
            raise AssertionError("the fake companion has no answer stream")
        yield FakeChunks(self.streams.pop(0) if len(self.streams) > 1 else self.streams[0], deadline_s)

    async def _arrive(self, request: Request, deadline_s: float) -> None:
        await trio.lowlevel.checkpoint()
        if trio.current_time() >= deadline_s:
            raise DeadlineExceeded("the deadline has passed; nothing was sent", started=False)
        self.requests.append(request)


class FakeChunks:
    """Implements `broker.companion.AnswerChunks` from a script."""

    def __init__(self, script: StreamScript, deadline_s: float) -> None:
        self._script = script
        self._pieces = list(script.pieces)
        self._deadline_s = deadline_s
        self._ended = False

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        await trio.lowlevel.checkpoint()
        if not self._pieces:
            self._ended = True
            raise StopAsyncIteration
        piece = self._pieces.pop(0)
        if isinstance(piece, Stall):
            await trio.sleep(math.inf if math.isinf(self._deadline_s) else self._deadline_s - trio.current_time())
            raise DeadlineExceeded("the answer did not end within its deadline")
        if isinstance(piece, GatewayError):
            raise piece
        return piece

    def _closing(self) -> StreamScript:
        if not self._ended:
            raise RuntimeError("read the answer stream to its end first")
        return self._script

    @property
    def status(self) -> int:
        return self._closing().status

    @property
    def conversation(self) -> str | None:
        return self._closing().conversation

    @property
    def retry_after_s(self) -> float | None:
        return self._closing().retry_after_s

    @property
    def hops(self) -> dict[str, float]:
        self._closing()
        return {"fetch_ms": 1.0}


def reply_body(rpc_id: str, payload: object) -> str:
    """Frame one result as the service does."""
    return rows_body([["wrb.fr", rpc_id, _json(payload), None, None, None, "generic"]])


def status_body(rpc_id: str, *status: object) -> str:
    """Frame a refusal with a status."""
    return rows_body([["wrb.fr", rpc_id, None, None, None, list(status), "generic"]])


def stream_body(events: Iterable[object]) -> str:
    """Frame the events of one answer stream, one chunk each."""
    return rows_body([["wrb.fr", None, _json(event)] for event in events])


def rows_body(rows: Sequence[object]) -> str:
    """Frame rows, one chunk each, with bookkeeping and the closing row."""
    chunks = [_chunk([row]) for row in rows] + [_chunk(BOOKKEEPING)]
    row_count = len(rows) + len(BOOKKEEPING) + 1
    body = PREFIX + "".join(chunks)
    # The closing row states the size of the whole body, its own digits included.
    size_bytes = len(body.encode())
    while True:
        end = _chunk([["e", row_count, None, None, size_bytes]])
        total = len((body + end).encode())
        if total == size_bytes:
            return body + end
        size_bytes = total


def _chunk(rows: Sequence[object]) -> str:
    payload = _json(rows)
    return f"{utf16_length(payload) + 2}\n{payload}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _as_sent(params: object) -> object:
    # A request is what goes over the wire: later changes by the caller must not show.
    return json.loads(json.dumps(params))
