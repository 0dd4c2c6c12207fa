"""CDP over a WebSocket: a `Transport` on trio-websocket.

It connects straight to the address in the URL and reads no proxy variables: control traffic of a local browser never
belongs on a proxy (case C-096). The TCP stream is ours, because trio-websocket 0.12 neither closes it after a failed
handshake nor notices when the peer dies in the middle of one (case C-098).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast
from urllib.parse import urlsplit

import attrs
import trio
from trio_websocket import ConnectionClosed, ConnectionRejected, WebSocketConnection, wrap_client_stream

from cdp.errors import ConnectFailed, ConnectionLost
from cdp.tasks import background_nursery

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

    def send_nowait(self, message: bytes) -> bool:
        """Return False: trio-websocket sends by awaiting only."""
        return False

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages, in as few writes as possible. Raises `ConnectionLost`."""
        try:
            for message in messages:
                await self._websocket.send_message(message.decode())
        except ConnectionClosed as error:
            raise ConnectionLost(_reason(error)) from None

    async def receive(self) -> Sequence[str | bytes]:
        """Return the next message. Raises `ConnectionLost`."""
        try:
            return (await self._websocket.get_message(),)
        except ConnectionClosed as error:
            raise ConnectionLost(_reason(error)) from None

    async def aclose(self) -> None:
        """Close politely for two seconds, then drop the socket; the peer may not play along (case C-098)."""
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
    address = _parse(url)
    deadline = trio.current_time() + connect_timeout_s
    tcp = await _open_tcp(address, deadline)
    try:
        async with background_nursery() as nursery:
            transport = WebSocketTransport(await _upgrade(nursery, tcp, address, deadline))
            try:
                yield transport
            finally:
                await transport.aclose()
    except BaseExceptionGroup as group:
        # trio-websocket's reader task raises this one, and only during the handshake.
        rejections = group.subgroup(ConnectionRejected)
        if rejections is None:
            raise
        status = cast("ConnectionRejected", rejections.exceptions[0]).status_code
        raise ConnectFailed(f"{url} refused the WebSocket upgrade with HTTP {status}") from None
    finally:
        await trio.aclose_forcefully(tcp)


@attrs.frozen
class _Address:
    url: str
    host: str
    port: int
    resource: str


def _parse(url: str) -> _Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError as error:
        raise ConnectFailed(f"{url!r} is no URL: {error}") from None
    if parts.scheme != "ws" or host is None:
        raise ConnectFailed(f"{url!r} is no ws:// URL; a browser's debugging endpoint starts with ws://127.0.0.1:")
    return _Address(url, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


async def _open_tcp(address: _Address, deadline: float) -> trio.SocketStream:
    with trio.CancelScope(deadline=deadline):
        try:
            return await trio.open_tcp_stream(address.host, address.port)
        except OSError as error:
            raise ConnectFailed(f"nothing listens at {address.url}: {error}") from None
    raise ConnectFailed(f"no connection to {address.url} in time")


async def _upgrade(
    nursery: trio.Nursery, tcp: trio.SocketStream, address: _Address, deadline: float
) -> WebSocketConnection:
    scope = trio.CancelScope(deadline=deadline)
    stream = _EndNoticingStream(tcp, scope.cancel)
    with scope:
        websocket = await wrap_client_stream(
            nursery,
            cast("trio.SocketStream", stream),  # any trio.abc.Stream will do, says its documentation
            f"{address.host}:{address.port}",
            address.resource,
            max_message_size=MAX_MESSAGE_BYTES,
            receive_buffer_size=RECEIVE_BUFFER_BYTES,
        )
        stream.on_end = None
        return websocket
    why = "it hung up" if stream.has_ended else "it did not answer in time"
    raise ConnectFailed(f"no WebSocket upgrade at {address.url}: {why}")


class _EndNoticingStream(trio.abc.Stream):
    """A TCP stream that says when the peer has ended it; trio-websocket's handshake waits for ever otherwise."""

    def __init__(self, stream: trio.SocketStream, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self.on_end: Callable[[], None] | None = on_end
        self.has_ended = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        try:
            data = await self._stream.receive_some(max_bytes)
        except trio.BrokenResourceError:
            self._end()
            raise
        if not data:
            self._end()
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _end(self) -> None:
        self.has_ended = True
        if self.on_end is not None:
            self.on_end()


def _reason(error: ConnectionClosed) -> str:
    reason = error.reason
    if reason is None:
        return "the WebSocket is closed"
    return f"the WebSocket was closed with code {reason.code}" + (f": {reason.reason}" if reason.reason else "")
