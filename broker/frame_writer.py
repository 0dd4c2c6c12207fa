"""The one writer of a connection: whole frames in order, sent at once when the socket takes them.

A frame belongs to the connection from the moment it is handed over, not to the task that made it, so cancelling that
task can neither cut a frame nor glue the next one to a torn one (case C-031). A frame is finished, or the connection is
closed. A frame of which no byte has left can be withdrawn, which proves that its call never started.
"""

from __future__ import annotations

import socket
from collections import deque

import trio

from native_host.framing import BROKER_HEADER, encode_header
from native_host.protocol import MAX_BROKER_FRAME_BYTES

JOIN_BYTES = 16 * 1024
"""Up to here, copying a payload behind its header is cheaper than a gathering write."""


class _Waiting:
    """A frame, or what is left of it, that the socket did not take at once."""

    __slots__ = ("call_id", "has_begun", "rest")

    def __init__(self, rest: memoryview, call_id: int | None, *, has_begun: bool) -> None:
        self.rest = rest
        self.call_id = call_id
        self.has_begun = has_begun


class FrameWriter:
    """`send_nowait` never blocks; `run` finishes what the socket did not take. `OSError` from either ends the link."""

    # Invariant: only the first waiting frame can have begun, and nothing is sent past a waiting frame.

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._waiting: deque[_Waiting] = deque()
        self._has_work = trio.Event()
        self._has_moved = False

    def __repr__(self) -> str:
        return f"<FrameWriter {len(self._waiting)} frames waiting>"

    def send_nowait(self, payload: bytes, call_id: int | None = None) -> None:
        """Send one frame, or as much as the socket takes now and the rest when it can.

        Raises:
            BadFrame: the payload may not be sent (empty, or above the limit).
            OSError: the connection is gone.
        """
        header = encode_header(BROKER_HEADER, len(payload), MAX_BROKER_FRAME_BYTES)
        sent = 0
        if not self._waiting:
            try:
                if len(payload) <= JOIN_BYTES:
                    sent = self._sock.send(header + payload)
                else:
                    sent = self._sock.sendmsg((header, payload))
            except BlockingIOError:
                pass
            if sent == len(header) + len(payload):
                return
        unsent = len(header) - sent
        # A large payload of which some has left is not copied.
        rest = memoryview(payload)[-unsent:] if unsent <= 0 else memoryview(header + payload)[sent:]
        self._waiting.append(_Waiting(rest, call_id, has_begun=sent > 0))
        self._has_work.set()

    def withdraw(self, call_id: int) -> bool:
        """Take back the call's frame; False when it has left, even in part."""
        for frame in self._waiting:
            if frame.call_id == call_id and not frame.has_begun:
                self._waiting.remove(frame)
                return True
        return False

    def take_progress(self) -> bool:
        """Return whether the peer still reads: nothing waits, or some of it has left since the last time asked."""
        moved, self._has_moved = self._has_moved, False
        return moved or not self._waiting

    async def run(self) -> None:
        """Send what waits, for as long as the connection lives.

        Raises: OSError when the connection is gone; trio.ClosedResourceError when it was closed here.
        """
        while True:
            await self._has_work.wait()
            while self._waiting:
                await trio.lowlevel.wait_writable(self._sock)
                self._send_first()
            self._has_work = trio.Event()

    def _send_first(self) -> None:
        # The frame may have been withdrawn while the socket was awaited.
        if not self._waiting:
            return
        frame = self._waiting[0]
        try:
            sent = self._sock.send(frame.rest)
        except BlockingIOError:
            return
        frame.has_begun = frame.has_begun or sent > 0
        self._has_moved = True
        frame.rest = frame.rest[sent:]
        if not frame.rest:
            self._waiting.popleft()
