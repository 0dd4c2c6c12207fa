"""A WebSocket server made of bytes, so that it can say what no library would."""

import base64
import hashlib
import struct
from collections.abc import Awaitable, Callable
from functools import partial

import trio

TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 0x1, 0x2, 0x0, 0x8, 0x9, 0xA
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(opcode: int, payload: bytes, *, fin: bool = True, reserved: int = 0, mask: bytes | None = None) -> bytes:
    """Return one frame. `reserved` are the three reserved bits as a number, 4 being RSV1."""
    first = (0x80 if fin else 0) | (reserved << 4) | opcode
    masked = 0x80 if mask is not None else 0
    if len(payload) < 126:
        head = struct.pack("!BB", first, masked | len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", first, masked | 126, len(payload))
    else:
        head = struct.pack("!BBQ", first, masked | 127, len(payload))
    if mask is not None:
        head += mask
        payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    return head + payload


def fragments(payload: bytes, count: int) -> bytes:
    """Return a text message in `count` frames."""
    size = -(-len(payload) // count)
    pieces = [payload[place : place + size] for place in range(0, len(payload), size)]
    return b"".join(
        frame(CONTINUATION if number else TEXT, piece, fin=number == len(pieces) - 1)
        for number, piece in enumerate(pieces)
    )


class Peer:
    """One upgraded connection, from the server's side."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._received = bytearray()

    async def next_frame(self) -> tuple[int, bytes]:
        """Return opcode and payload of the client's next frame, which has to be masked."""
        first, second = await self._take(2)
        assert second & 0x80, "a client masks its frames"
        length = second & 0x7F
        if length >= 126:
            length = int.from_bytes(await self._take(2 if length == 126 else 8))
        mask = await self._take(4)
        body = await self._take(length)
        pattern = (mask * (length // 4 + 1))[:length]
        return first & 0x0F, (int.from_bytes(body) ^ int.from_bytes(pattern)).to_bytes(length)

    async def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            data = await self.stream.receive_some()
            if not data:
                raise EOFError("the client hung up")
            self._received += data
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken


def upgrade(request: bytes, *, accept: bytes | None = None, extra: bytes = b"", status: bytes = b"101 X") -> bytes:
    """Return the answer to an upgrade request."""
    key = request.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0]
    accept = accept or base64.b64encode(hashlib.sha1(key + GUID).digest())
    head = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n"
    return b"HTTP/1.1 " + status + b"\r\n" + head + extra + b"\r\n"


async def serve(nursery: trio.Nursery, behave: Callable[[Peer], Awaitable[None]]) -> str:
    """Accept the upgrade on loopback, let `behave` speak, and hang up; return the URL."""

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(upgrade(await stream.receive_some()))
            await behave(Peer(stream))

    return await serve_tcp(nursery, handle)


async def serve_tcp(nursery: trio.Nursery, handle: Callable[[trio.SocketStream], Awaitable[None]]) -> str:
    """Run a bare TCP server on loopback and return a WebSocket URL to it."""
    listeners = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
    return f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}/devtools/browser/x"
