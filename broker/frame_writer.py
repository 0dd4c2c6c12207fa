"""The one writer of a connection: whole frames in order, sent at once when the socket takes them.

A frame belongs to the connection from the moment it is handed over, not to the task that made it, so cancelling that
task can neither cut a frame nor glue the next one to a torn one (case C-031). A frame is finished, or the connection is
closed. A frame of which no byte has left can be withdrawn, which proves that its call never started.
"""

from __future__ import annotations

import socket
from collections import deque
from itertools import islice

import trio

from native_host.framing import BROKER_HEADER, encode_header
from native_host.protocol import MAX_BROKER_FRAME_BYTES

JOIN_BYTES = 16 * 1024
"""Up to here, copying a payload behind its header is cheaper than sending the two as parts."""
BATCH_FRAMES = 64
"""How many frames one system call takes at most; far below IOV_MAX (1024), and above the limit of open calls."""


class _Frame:
    """A frame that has not left completely. Its bytes are in `parts`, of which empty ones do not occur."""

    __slots__ = ("call_id", "has_begun", "parts")

    def __init__(self, payload: bytes, call_id: int | None) -> None:
        header = encode_header(BROKER_HEADER, len(payload), MAX_BROKER_FRAME_BYTES)
        self.parts: list[bytes | memoryview]
        self.parts = [header + payload] if len(payload) <= JOIN_BYTES else [header, payload]
        self.call_id = call_id
        self.has_begun = False

    def take_sent(self, sent_bytes: int) -> int:
        """Drop what has left of this frame and return how many of those bytes belong to the next one."""
        self.has_begun = self.has_begun or sent_bytes > 0
        while self.parts and sent_bytes >= len(self.parts[0]):
            sent_bytes -= len(self.parts.pop(0))
        if self.parts and sent_bytes:
            self.parts[0] = memoryview(self.parts[0])[sent_bytes:]
            return 0
        return sent_bytes


class FrameWriter:
    """`send_nowait` never blocks; `run` sends what could or should not leave at once. `OSError` ends the link."""

    # Invariant: only the first waiting frame can have begun, and nothing is sent past a waiting frame.

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._waiting: deque[_Frame] = deque()
        self._has_work = trio.Event()
        self._has_moved = False

    def __repr__(self) -> str:
        return f"<FrameWriter {len(self._waiting)} frames waiting>"

    def send_nowait(self, payload: bytes, call_id: int | None = None, *, is_urgent: bool = True) -> None:
        """Send one frame, or as much as the socket takes now and the rest when it can.

        A frame that is not urgent leaves in the next turn of the loop, with all others of this turn: one system call,
        and one waking of the host, instead of one for each.

        Raises:
            BadFrame: the payload may not be sent (empty, or above the limit).
            OSError: the connection is gone.
        """
        self._waiting.append(_Frame(payload, call_id))
        if is_urgent and len(self._waiting) == 1:
            self._send_waiting()
        if self._waiting:
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
            self._send_waiting()
            while self._waiting:
                await trio.lowlevel.wait_writable(self._sock)
                self._send_waiting()
            self._has_work = trio.Event()

    def _send_waiting(self) -> None:
        """Offer the socket what waits, once."""
        if not self._waiting:
            return  # the frame was withdrawn meanwhile
        parts = [part for frame in islice(self._waiting, BATCH_FRAMES) for part in frame.parts]
        try:
            sent_bytes = self._sock.sendmsg(parts) if len(parts) > 1 else self._sock.send(parts[0])
        except BlockingIOError:
            return
        self._has_moved = True
        while sent_bytes:
            sent_bytes = self._waiting[0].take_sent(sent_bytes)
            if not self._waiting[0].parts:
                self._waiting.popleft()
