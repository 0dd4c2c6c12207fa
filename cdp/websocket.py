"""CDP over a WebSocket: a `Transport` on trio-websocket.

It connects straight to the address in the URL and reads no proxy variables: control traffic of a local browser never
belongs on a proxy (case C-096). The TCP stream is ours, because trio-websocket 0.12 neither closes it after a failed
handshake nor notices when the peer dies in the middle of one (case C-098).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast
from urllib.parse import urlsplit

import attrs
import h11
import trio
from trio_websocket import CloseReason, ConnectionClosed, ConnectionRejected, WebSocketConnection, wrap_client_stream
from wsproto.frame_protocol import FrameProtocol

from cdp.errors import ConnectFailed, ConnectionLost
from cdp.socket_stream import RECEIVE_BYTES, NoticingSocketStream
from cdp.tasks import background_nursery

MAX_MESSAGE_BYTES: Final = 128 * 1024 * 1024
"""trio-websocket's own limit of 1 MiB is below what Chrome sends for a large page or target list (case C-097)."""
MESSAGE_QUEUE: Final = 64
"""trio-websocket's own reader task may be this many messages ahead of ours."""
CONNECT_TIMEOUT_S: Final = 10.0
CLOSE_TIMEOUT_S: Final = 2.0
MAX_NOWAIT_BYTES: Final = 4096
_HANDSHAKE_ERRORS: Final = (ConnectionRejected, h11.LocalProtocolError)
"""The second is trio-websocket's own: it answers garbage in place of an upgrade with a response, as a server would."""


class WebSocketTransport:
    """Whole text messages over one WebSocket."""

    def __init__(self, websocket: WebSocketConnection, stream: NoticingSocketStream) -> None:
        self._websocket = websocket
        self._stream = stream
        self._frames = FrameProtocol(client=True, extensions=[])

    def send_nowait(self, message: bytes) -> bool:
        """Send one small message in the caller's own turn. Raises `ConnectionLost`.

        trio-websocket takes a turn of the scheduler for its lock. Nothing is under its lock when the stream keeps
        nothing back, and a frame of one whole message depends on no other frame, so a second encoder makes it.
        """
        if self._websocket.closed is not None:
            raise ConnectionLost(_reason_of(self._websocket.closed))
        if len(message) > MAX_NOWAIT_BYTES:
            return False
        try:
            return self._stream.send_nowait(self._frames.send_data(message.decode(), fin=True))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return False  # trio-websocket finds out the same, and then knows why

    @property
    def has_rest(self) -> bool:
        """See `Transport.has_rest`."""
        return self._stream.has_rest

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages in one write. Raises `ConnectionLost`."""
        try:
            if not messages:
                await self._stream.send_all(b"")
                return
            self._stream.is_gathering = True
            for message in messages[:-1]:
                await self._websocket.send_message(message.decode())
            self._stream.is_gathering = False
            await self._websocket.send_message(messages[-1].decode())
        except ConnectionClosed as error:
            raise ConnectionLost(_reason(error)) from None
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ConnectionLost("the WebSocket is closed") from None
        finally:
            self._stream.is_gathering = False

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
    stream = NoticingSocketStream(await _open_tcp(address, deadline))
    try:
        async with background_nursery() as nursery:
            transport = WebSocketTransport(await _upgrade(nursery, stream, address, deadline), stream)
            try:
                yield transport
            finally:
                await transport.aclose()
    except BaseExceptionGroup as group:
        # trio-websocket's reader task raises these, and only during the handshake.
        if group.subgroup(_HANDSHAKE_ERRORS) is None:
            raise
        raise ConnectFailed(_handshake_failure(url, group)) from None
    finally:
        await trio.aclose_forcefully(stream)


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
    nursery: trio.Nursery, stream: NoticingSocketStream, address: _Address, deadline: float
) -> WebSocketConnection:
    scope = trio.CancelScope(deadline=deadline)
    stream.on_end = scope.cancel
    with scope:
        websocket = await wrap_client_stream(
            nursery,
            cast("trio.SocketStream", stream),  # any trio.abc.Stream will do, says its documentation
            f"{address.host}:{address.port}",
            address.resource,
            max_message_size=MAX_MESSAGE_BYTES,
            receive_buffer_size=RECEIVE_BYTES,
            message_queue_size=MESSAGE_QUEUE,
        )
        stream.on_end = None
        return websocket
    why = "it hung up, or its answer was no upgrade" if stream.has_ended else "it did not answer in time"
    raise ConnectFailed(f"no WebSocket upgrade at {address.url}: {why}")


def _handshake_failure(url: str, group: BaseExceptionGroup[BaseException]) -> str:
    rejections = group.subgroup(ConnectionRejected)
    if rejections is None:
        return f"what answers at {url} is no WebSocket server"
    status = cast("ConnectionRejected", rejections.exceptions[0]).status_code
    return f"{url} refused the WebSocket upgrade with HTTP {status}"


def _reason(error: ConnectionClosed) -> str:
    return "the WebSocket is closed" if error.reason is None else _reason_of(error.reason)


def _reason_of(reason: CloseReason) -> str:
    return f"the WebSocket was closed with code {reason.code}" + (f": {reason.reason}" if reason.reason else "")
