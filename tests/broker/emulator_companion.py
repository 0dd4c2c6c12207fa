"""A companion that hands calls straight to the emulator's answer makers: no page, no HTTP, real states and framing."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from attrs import define, field

from broker.companion import AnswerChunks, Identity, RpcReply
from broker.fake_uploads import FakeUploads
from harness.emulator import faults
from harness.emulator.answer_stream import open_stream
from harness.emulator.framing import result_row, status_row, whole_body
from harness.emulator.params import Denied
from harness.emulator.rpc_table import answer
from harness.emulator.state import ServiceState

ACCOUNT = "ada@example.com"


@define(eq=False)
class EmulatorCompanion(FakeUploads):
    """Implements `broker.companion.Companion`. `effects` are the faults that hit the next streams.

    Uploads are kept beside the emulator's state (`FakeUploads`): its upload endpoint is HTTP.
    """

    state: ServiceState
    effects: Sequence[faults.Effect] = ()
    rpc_ids: list[str] = field(factory=list[str])

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        return Identity(ACCOUNT, "https://notebook.google.com", "emulator")

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        return {}

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        self.rpc_ids.append(rpc_id)
        sent: Any = json.loads(json.dumps(params))
        try:
            self.state.advance()
            row = result_row(rpc_id, await answer(self.state, self.state.account(ACCOUNT), rpc_id, sent))
        except Denied as denied:
            row = status_row(rpc_id, [denied.status])
        return RpcReply(200, whole_body(row, duration_ms=1, serial=1))

    @asynccontextmanager
    async def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[AnswerChunks]:
        sent: Any = json.loads(json.dumps(params))
        pieces = open_stream(self.state, self.state.account(ACCOUNT), sent, self.effects, 1)
        async with aclosing(cast("AsyncGenerator[bytes]", pieces)) as open_pieces:
            yield _Chunks(open_pieces)


class _Chunks:
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.status = 200
        self.conversation: str | None = None
        self.retry_after_s: float | None = None
        self.hops: dict[str, float] = {}

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        return self._decoder.decode(await self._pieces.__anext__())
