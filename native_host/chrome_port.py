"""Chrome's port: reading and writing its two descriptors without ever waiting in a write.

`O_NONBLOCK` belongs to the open file description, which other processes may share, so it is not set on what we
inherited. Sockets take a flag per call. A pipe is opened anew through ``/proc`` (Linux), which gives a description of
our own; where that is not possible (macOS; not tested), pieces are kept so short that a pipe that is ready takes them
whole.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
import sys
from collections import deque
from typing import Final

from native_host.framing import CHROME_HEADER, FrameDecoder, encode_header
from native_host.outbox import ChromeOutbox
from native_host.protocol import MAX_FROM_CHROME_BYTES, MAX_TO_CHROME_BYTES
from native_host.stdio import ChromeDescriptors

PIPE_BYTES: Final = 1024 * 1024
"""Wanted size of the kernel's buffer: the default of 64 KiB costs eight wake-ups per fragment."""

BATCH_BYTES: Final = 64 * 1024
"""Small frames are written together up to this size."""

MAX_PIECES: Final = 64
"""Buffers per call; every system allows at least 1024 (IOV_MAX), more than that gains nothing."""


class PortClosed(Exception):
    """Chrome closed its side."""


class ChromePort:
    """The leg to Chrome. Frames to send are drawn from the outbox only when the pipe takes them."""

    def __init__(self, descriptors: ChromeDescriptors, outbox: ChromeOutbox) -> None:
        self.from_chrome = descriptors.from_chrome
        self.to_chrome = _own_writer(descriptors.to_chrome)
        self.decoder = FrameDecoder(CHROME_HEADER, MAX_FROM_CHROME_BYTES)
        self._outbox = outbox
        self._socket = _maybe_socket(self.to_chrome)
        # Invariant: whole frames, of which the first may have left in part.
        self._pieces: deque[memoryview] = deque()
        for descriptor in (self.from_chrome, self.to_chrome):
            _enlarge(descriptor)

    @property
    def has_more(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._pieces) or bool(self._outbox)

    def read(self) -> None:
        """Read what is there into the decoder. Call it when the descriptor is readable.

        Raises:
            PortClosed: end of file.
        """
        try:
            size_bytes = os.readv(self.from_chrome, [self.decoder.get_buffer()])
        except OSError as error:
            raise PortClosed(str(error)) from error
        if size_bytes == 0:
            raise PortClosed("Chrome closed the port")
        self.decoder.buffer_updated(size_bytes)

    def write(self) -> None:
        """Write until nothing waits or the pipe is full.

        Raises:
            PortClosed: nobody reads any more.
        """
        try:
            while self._draw():
                self._drop(self._write_once())
        except BlockingIOError:
            return
        except OSError as error:
            raise PortClosed(f"Chrome does not read: {error}") from error

    def _draw(self) -> bool:
        size_bytes = sum(map(len, self._pieces))
        while size_bytes < BATCH_BYTES and len(self._pieces) < MAX_PIECES - 1:
            payload = self._outbox.maybe_next_frame()
            if payload is None:
                break
            self._pieces.append(memoryview(encode_header(CHROME_HEADER, len(payload), MAX_TO_CHROME_BYTES)))
            self._pieces.append(memoryview(payload))
            size_bytes += len(payload)
        return bool(self._pieces)

    def _write_once(self) -> int:
        if self._socket is not None:
            return self._socket.sendmsg(list(self._pieces), [], socket.MSG_DONTWAIT)
        if os.get_blocking(self.to_chrome):
            if not select.select([], [self.to_chrome], [], 0)[1]:
                raise BlockingIOError
            return os.write(self.to_chrome, self._pieces[0][: select.PIPE_BUF])
        return os.writev(self.to_chrome, list(self._pieces))

    def _drop(self, size_bytes: int) -> None:
        while size_bytes:
            piece = self._pieces[0]
            if len(piece) > size_bytes:
                self._pieces[0] = piece[size_bytes:]
                return
            size_bytes -= len(piece)
            self._pieces.popleft()


def _maybe_socket(descriptor: int) -> socket.socket | None:
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return None
    return socket.socket(fileno=os.dup(descriptor))


def _own_writer(descriptor: int) -> int:
    """Return a descriptor for the same pipe whose non-blocking mode nobody else shares, if the system can."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return descriptor
    try:
        own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return descriptor
    os.close(descriptor)
    return own


def _enlarge(descriptor: int) -> None:
    if sys.platform != "linux":
        return
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:  # no pipe, or this user's pipes are too large already
        return
