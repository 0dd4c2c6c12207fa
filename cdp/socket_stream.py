"""The TCP stream under trio-websocket: fewer turns of the scheduler than `trio.SocketStream`, and it notices its end.

`trio.SocketStream` takes a turn of the scheduler for each send, and a futile read before it waits for data. Here a send
that the kernel takes at once waits for nothing, and several sends can be gathered into one write.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import trio

RECEIVE_BYTES: Final = 256 * 1024


class NoticingSocketStream(trio.abc.Stream):
    """A connected TCP socket. One task receives, and one at a time sends: trio-websocket holds a lock around sends."""

    def __init__(self, connected: trio.SocketStream) -> None:
        """Take over the socket of `connected`, which is closed afterwards."""
        self._socket = socket.socket(fileno=connected.socket.detach())
        self._socket.setblocking(False)
        self._gathered = bytearray()
        # Invariant: true once only a part of what was to be sent is sent; whatever followed would be misread.
        self._is_cut = False
        self.is_gathering = False
        """While true, what is sent is kept; it goes out in front of the next send after that."""
        self.has_ended = False
        self.on_end: Callable[[], None] | None = None

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has arrived, b"" at the end of the stream."""
        while True:
            if self._socket.fileno() < 0:
                raise trio.ClosedResourceError("this stream was closed")
            await trio.lowlevel.wait_readable(self._socket)
            try:
                data = self._socket.recv(max_bytes or RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                self._end()
                raise trio.BrokenResourceError(str(error)) from error
            if not data:
                self._end()
            return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send, or keep. A checkpoint only when the kernel's buffer is full."""
        if self.is_gathering or self._gathered:
            self._gathered += data
            if self.is_gathering:
                return
            data, self._gathered = self._gathered, bytearray()
        with memoryview(data) as view:
            sent = 0
            while sent < len(view):
                self._check_can_send()
                try:
                    sent += self._socket.send(view[sent:])
                except BlockingIOError:
                    self._is_cut = True
                    await trio.lowlevel.wait_writable(self._socket)
                    self._is_cut = False
                except OSError as error:
                    raise trio.BrokenResourceError(str(error)) from error

    @property
    def has_rest(self) -> bool:
        """Whether something is kept for the next send."""
        return bool(self._gathered)

    def send_nowait(self, data: bytes | bytearray) -> bool:
        """Send without waiting: False if nothing could be sent; what the kernel does not take is kept.

        Raises:
            trio.BrokenResourceError, trio.ClosedResourceError: the peer, or this stream, is gone.
        """
        if self._gathered or self.is_gathering or self._is_cut:
            return False
        self._check_can_send()
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            return False
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error
        self._gathered += data[sent:]
        return True

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until the kernel takes at least one byte."""
        self._check_can_send()
        await trio.lowlevel.wait_writable(self._socket)

    async def aclose(self) -> None:
        """Close at once. It counts as an end: trio-websocket closes a peer that breaks the protocol."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self._end()
        await trio.lowlevel.checkpoint()

    def _check_can_send(self) -> None:
        if self._socket.fileno() < 0:
            raise trio.ClosedResourceError("this stream was closed")
        if self._is_cut:
            raise trio.BrokenResourceError("an earlier send was cancelled in the middle")

    def _end(self) -> None:
        self.has_ended = True
        if self.on_end is not None:
            self.on_end()
