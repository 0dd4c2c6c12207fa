"""One broker's socket: frames in, whole frames out, never waiting. The relay decides, this only moves bytes."""

from __future__ import annotations

import socket
from collections import deque
from itertools import islice
from typing import Final

from native_host.commands import Payload
from native_host.framing import BROKER_HEADER, FrameDecoder, encode_header
from native_host.protocol import MAX_BROKER_FRAME_BYTES

MAX_PIECES: Final = 64
"""Buffers per `sendmsg`; every system allows at least 1024 (IOV_MAX), more than that gains nothing."""


class BrokerGone(Exception):
    """The broker closed its socket, or its process ended."""


class BrokerSocket:
    """The connection of one broker, by its number."""

    def __init__(self, conn: int, connection: socket.socket) -> None:
        self.conn = conn
        self.decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
        # When an ending connection is closed whether it has read its last frame or not; None while it is not ending.
        self.close_at_s: float | None = None
        self.close_reason = ""
        self._socket = connection
        # Invariant: headers and payloads in turn, of which the first may have left in part.
        self._pieces: deque[memoryview] = deque()

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._socket.fileno()

    @property
    def has_more(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._pieces)

    def read(self) -> bool:
        """Read once into the decoder; return False when nothing was there.

        Raises:
            BrokerGone: end of file.
        """
        try:
            size_bytes = self._socket.recv_into(self.decoder.get_buffer())
        except BlockingIOError:
            return False
        except OSError as error:
            raise BrokerGone(str(error)) from error
        if size_bytes == 0:
            raise BrokerGone("the broker closed its socket")
        self.decoder.buffer_updated(size_bytes)
        return True

    def put(self, payload: Payload) -> None:
        """Queue one frame."""
        self._pieces.append(memoryview(encode_header(BROKER_HEADER, len(payload), MAX_BROKER_FRAME_BYTES)))
        self._pieces.append(memoryview(payload))

    def write(self) -> int:
        """Write until nothing waits or the socket is full, and return how many *payload* bytes are through.

        Raises:
            BrokerGone: nobody reads any more.
        """
        done_bytes = 0
        try:
            while self._pieces:
                done_bytes += self._drop(self._socket.sendmsg(islice(self._pieces, MAX_PIECES)))
        except BlockingIOError:
            pass
        except OSError as error:
            raise BrokerGone(str(error)) from error
        return done_bytes

    def _drop(self, size_bytes: int) -> int:
        done_bytes = 0
        while size_bytes:
            piece = self._pieces[0]
            is_header = len(self._pieces) % 2 == 0
            taken = min(len(piece), size_bytes)
            done_bytes += 0 if is_header else taken
            size_bytes -= taken
            if taken < len(piece):
                self._pieces[0] = piece[taken:]
            else:
                self._pieces.popleft()
        return done_bytes

    def close(self) -> None:
        """Close the socket; what was not read by the broker is lost."""
        self._socket.close()
