"""Ending a connection in the middle of a request, which ASGI has no word for.

How it ends makes a difference. On a connection that served a request before, Chromium takes an end without a single
byte for a race with keep-alive and sends the request again by itself, up to twice, a POST too [seen with Chromium over
HTTP/1.1]. A beginning of a response rules that out: then the page's `fetch` fails, and the request was sent once.
"""

from __future__ import annotations

from typing import Final, cast

from hypercorn.protocol.events import Data, StreamClosed
from hypercorn.protocol.http_stream import HTTPStream
from starlette.types import Scope, Send

_KEY: Final = "emulator.stream"
_BROKEN_BEGINNING: Final = b"HTTP/1.1 200 OK\r\ncontent-t"


def remember_stream(scope: Scope, send: Send) -> None:
    """Keep hypercorn's own stream of a request; to be called where ``send`` is still the server's."""
    scope[_KEY] = getattr(send, "__self__", None)


async def sever(scope: Scope, *, bare: bool) -> None:
    """End the connection of a request that has no answer yet: in the middle of a header, or (``bare``) before it."""
    stream = cast("HTTPStream", scope[_KEY])
    if not bare:
        await stream.send(Data(stream_id=stream.stream_id, data=_BROKEN_BEGINNING))
    await stream.send(StreamClosed(stream_id=stream.stream_id))
