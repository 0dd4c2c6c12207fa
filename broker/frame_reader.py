"""The one reader of a connection: bytes from a non-blocking socket, cut into payloads and handed over one by one."""

from __future__ import annotations

import socket
from collections.abc import Callable

import trio

from native_host.framing import BROKER_HEADER, FrameDecoder
from native_host.protocol import MAX_BROKER_FRAME_BYTES


async def read_payloads(sock: socket.socket, handle: Callable[[bytes | bytearray], bool]) -> bool:
    """Give each payload to `handle` until that returns False or the peer closes; return whether no frame was cut.

    A large body is received into a buffer of its own. `handle` must not block.

    Raises: BadFrame for a length that no frame may have; OSError when the connection fails;
        trio.ClosedResourceError when it was closed here.
    """
    decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
    while True:
        buffer = decoder.get_buffer()
        try:
            received_bytes = sock.recv_into(buffer)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(sock)
            continue
        if received_bytes == 0:
            return decoder.is_at_boundary
        decoder.buffer_updated(received_bytes)
        while (payload := decoder.maybe_next_frame()) is not None:
            if not handle(payload):
                return True
        if received_bytes < len(buffer):  # the socket is drained; another try would only fail
            await trio.lowlevel.wait_readable(sock)
        else:
            await trio.lowlevel.checkpoint()  # a peer that never pauses must not starve the other tasks
