"""The two descriptors of the protocol: claimed once, waited for by readiness, never switched to O_NONBLOCK.

Standard output is a wire, so it is moved away from descriptor 1 before anything else runs: stray prints, C libraries
and child processes then write to standard error, and read end of file (C-009). O_NONBLOCK belongs to the open file
description, which a terminal shares with the shell and with standard error, so it stays as it was (C-034); instead
each read and write waits until the kernel says it cannot block. POSIX only.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import stat
from collections.abc import Awaitable, Callable
from typing import Final

import trio

READ_BYTES: Final = 65536
PIPE_WRITE_BYTES: Final = 4096
"""POSIX: a pipe that polls writable takes PIPE_BUF bytes without blocking; PIPE_BUF is at least 512, here 4096."""

_PEER_GONE: Final = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EIO, errno.EBADF})


class WireClosed(Exception):
    """The peer no longer reads, or a line was cut by cancellation: nothing more may be written."""


def claim_stdio() -> tuple[int, int]:
    """Move standard input and output away from 0 and 1 and return the two private descriptors.

    From here on descriptor 0 reads end of file and descriptor 1 is standard error. Call it once, first thing.
    """
    read_fd = _private_copy(0, os.O_RDONLY)
    write_fd = _private_copy(1, os.O_WRONLY)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a standard error
        os.dup2(null, 1)
    os.close(null)
    return read_fd, write_fd


def _private_copy(fd: int, null_mode: int) -> int:
    """Duplicate `fd` above the standard range, not inherited; a descriptor that is closed becomes the null device."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        null = os.open(os.devnull, null_mode)
        try:
            return fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, 3)
        finally:
            os.close(null)


async def _wait(until_ready: Callable[[int], Awaitable[None]], fd: int) -> None:
    try:
        await until_ready(fd)
    except PermissionError:  # epoll refuses regular files and the null device; they never block
        await trio.lowlevel.checkpoint()


class StdioWire:
    """Bytes in, whole lines out, over a pair of descriptors it does not own.

    Clients give pipes or, as Node does, socket pairs; a person gives a terminal; tests give files.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._write_lock = trio.Lock()
        self._torn = False  # Invariant: once True, nothing is ever written again.
        is_socket = stat.S_ISSOCK(os.fstat(write_fd).st_mode)
        self._socket = socket.socket(fileno=os.dup(write_fd)) if is_socket else None
        self._writable = select.poll()
        self._writable.register(write_fd, select.POLLOUT)

    def __repr__(self) -> str:
        return f"<StdioWire read={self._read_fd} write={self._write_fd}{' closed' if self._torn else ''}>"

    def close(self) -> None:
        """Give back what the wire holds besides the two descriptors, which stay their owner's."""
        if self._socket is not None:
            self._socket.close()

    async def receive_some(self) -> bytes:
        """Return some bytes, or ``b""`` at end of file."""
        await _wait(trio.lowlevel.wait_readable, self._read_fd)
        try:
            return os.read(self._read_fd, READ_BYTES)
        except OSError as error:
            if error.errno in _PEER_GONE:
                return b""
            raise

    async def send_line(self, line: bytes) -> None:
        """Write `line` and a line feed, whole and never interleaved with another one.

        Raises:
            WireClosed: the peer is gone, or an earlier line could not be finished.
        """
        async with self._write_lock:
            if self._torn:
                raise WireClosed
            self._torn = True  # until the last byte has left
            rest = memoryview(line + b"\n")
            while rest:
                written = self._write_some(rest) if self._writable.poll(0) else 0
                if not written:
                    await _wait(trio.lowlevel.wait_writable, self._write_fd)
                rest = rest[written:]
            self._torn = False

    def _write_some(self, rest: memoryview) -> int:
        try:
            if self._socket is not None:
                return self._socket.send(rest, socket.MSG_DONTWAIT)
            return os.write(self._write_fd, rest[:PIPE_WRITE_BYTES])
        except BlockingIOError:  # a socket takes what it takes; or our parent had set O_NONBLOCK
            return 0
        except OSError as error:
            if error.errno in _PEER_GONE:
                raise WireClosed from error
            raise
