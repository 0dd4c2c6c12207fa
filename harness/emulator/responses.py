"""HTTP answers that can be paced, cut off or stalled: a small ASGI response of our own.

Severing works by returning without the end of the body, which closes an HTTP/1.1 connection. Hypercorn has no such
thing for HTTP/2 (the stream would stay open for ever), which is why ``server`` offers HTTP/1.1 only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from harness.emulator.faults import Disconnect
from harness.emulator.severing import sever


class PacedResponse(Response):
    """Sends each piece as soon as it is produced; with ``cut``, no more than that many bytes of them."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        *,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        cut: Disconnect | None = None,
    ) -> None:
        super().__init__(status_code=status_code, headers=headers)
        del self.headers["content-length"]  # the base class counted an empty body
        self._pieces = pieces
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        left = None if self._cut is None else self._cut.bytes
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                if left is not None and len(piece) >= left:
                    await send({"type": "http.response.body", "body": piece[:left], "more_body": True})
                    break
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                left = None if left is None else left - len(piece)
        if self._cut is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif self._cut.stall:
            await _client_gone(receive)


class SeveredResponse(Response):
    """No answer: the connection ends (``bare``: without a single byte, see ``severing``) or, ``stall``, goes silent.

    To be sent when the request has been read to its end, so that the client meets nothing but this.
    """

    def __init__(self, *, stall: bool = False, bare: bool = False) -> None:
        super().__init__()
        self._stall = stall
        self._bare = bare

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._stall:
            await _client_gone(receive)
        else:
            await sever(scope, bare=self._bare)


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """Say yes to the server's start and end: we need neither, but hypercorn waits for both answers."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def one_piece(data: bytes) -> AsyncGenerator[bytes]:
    yield data
