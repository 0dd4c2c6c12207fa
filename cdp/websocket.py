"""CDP over a WebSocket: a `Transport` on trio-websocket.

It connects straight to the address in the URL and reads no proxy variables: control traffic of a local browser never
belongs on a proxy (case C-096).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import trio
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    ConnectionTimeout,
    HandshakeError,
    WebSocketConnection,
    open_websocket_url,
)

from cdp.errors import ConnectFailed, ConnectionLost

MAX_MESSAGE_BYTES: Final = 128 * 1024 * 1024
"""trio-websocket's own limit of 1 MiB is below what Chrome sends for a large page or target list (case C-097)."""
RECEIVE_BUFFER_BYTES: Final = 64 * 1024
"""The default of 4 KiB doubles the CPU per received megabyte (measured, wsproto: 388 against 1,841 MB/s)."""
CONNECT_TIMEOUT_S: Final = 10.0
CLOSE_TIMEOUT_S: Final = 2.0


class WebSocketTransport:
    """Whole text messages over one WebSocket."""

    def __init__(self, websocket: WebSocketConnection) -> None:
        self._websocket = websocket

    async def send(self, message: str) -> None:
        """Send one text message. Raises `ConnectionLost`."""
        try:
            await self._websocket.send_message(message)
        except ConnectionClosed as error:
            raise ConnectionLost(_reason(error)) from None

    async def receive(self) -> str | bytes:
        """Return the next message. Raises `ConnectionLost`."""
        try:
            return await self._websocket.get_message()
        except ConnectionClosed as error:
            raise ConnectionLost(_reason(error)) from None

    async def aclose(self) -> None:
        """Close politely for two seconds, then drop the socket; the peer may not play along (case C-098)."""
        # When the time is up, trio-websocket's own `finally` closes the TCP socket, which also ends its reader task.
        with trio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
            await self._websocket.aclose()


@asynccontextmanager
async def open_websocket_transport(
    url: str, *, connect_timeout_s: float = CONNECT_TIMEOUT_S
) -> AsyncGenerator[WebSocketTransport]:
    """Connect to ``ws://…`` and yield the transport; the socket is closed on the way out.

    permessage-deflate is never offered: it costs seven times the time on large sends (measured).

    Raises:
        ConnectFailed: nothing listens there, the upgrade was refused, or it took too long.
    """
    async with AsyncExitStack() as stack:
        try:
            websocket = await stack.enter_async_context(
                open_websocket_url(
                    url,
                    max_message_size=MAX_MESSAGE_BYTES,
                    receive_buffer_size=RECEIVE_BUFFER_BYTES,
                    connect_timeout=connect_timeout_s,
                )
            )
        except ConnectionTimeout:
            raise ConnectFailed(f"no WebSocket at {url} within {connect_timeout_s:g} s") from None
        except ConnectionRejected as error:
            raise ConnectFailed(f"{url} refused the WebSocket upgrade with HTTP {error.status_code}") from None
        except (HandshakeError, ConnectionClosed, ValueError) as error:
            why = error.__cause__ or error
            raise ConnectFailed(f"no WebSocket at {url}: {why or type(why).__name__}") from None
        transport = WebSocketTransport(websocket)
        try:
            yield transport
        finally:
            await transport.aclose()


def _reason(error: ConnectionClosed) -> str:
    reason = error.reason
    if reason is None:
        return "the WebSocket is closed"
    return f"the WebSocket was closed with code {reason.code}" + (f": {reason.reason}" if reason.reason else "")
