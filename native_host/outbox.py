"""The queue towards Chrome: one turn per broker, large messages a piece at a time.

A broker that uploads megabytes and one that asks a small question take turns frame by frame, so the question waits for
one fragment, not for the upload. Within one broker the order is kept. Pure.
"""

from __future__ import annotations

from collections import deque

from native_host.fragments import encode_fragment, fragment_count, needs_fragments


class _Lane:
    """What one connection has to say, in order."""

    __slots__ = ("messages", "next_seq", "queued_bytes")

    def __init__(self) -> None:
        self.messages: deque[tuple[bytes, int]] = deque()
        # Invariant: above 0 exactly while the first of `messages` has left in part, as fragments.
        self.next_seq = 0
        self.queued_bytes = 0


class ChromeOutbox:
    """Messages that wait for Chrome to read, by connection number (0: the host's own)."""

    def __init__(self) -> None:
        self._lanes: dict[int, _Lane] = {}
        # Invariant: holds each key of `_lanes` once; no lane is empty.
        self._turns: deque[int] = deque()

    def __bool__(self) -> bool:
        return bool(self._turns)

    def queued_bytes(self, conn: int) -> int:
        """Return how much of this connection is still held."""
        lane = self._lanes.get(conn)
        return lane.queued_bytes if lane else 0

    def put(self, conn: int, payload: bytes, message_id: int) -> None:
        """Add a message behind those of the same connection. `message_id` names it if it has to go in pieces."""
        lane = self._lanes.get(conn)
        if lane is None:
            lane = self._lanes[conn] = _Lane()
            self._turns.append(conn)
        lane.messages.append((payload, message_id))
        lane.queued_bytes += len(payload)

    def forget(self, conn: int) -> None:
        """Drop what has not left yet. The rest of a message that has left in part never follows."""
        if self._lanes.pop(conn, None) is not None:
            self._turns.remove(conn)

    def maybe_next_frame(self) -> bytes | None:
        """Return the payload of the next message to Chrome, or None when nothing waits."""
        if not self._turns:
            return None
        conn = self._turns.popleft()
        lane = self._lanes[conn]
        payload, message_id = lane.messages[0]
        frame, is_finished = payload, True
        if needs_fragments(payload):
            frame = encode_fragment(conn, message_id, payload, lane.next_seq)
            lane.next_seq += 1
            is_finished = lane.next_seq == fragment_count(payload)
        if is_finished:
            lane.next_seq = 0
            lane.messages.popleft()
            lane.queued_bytes -= len(payload)
        if lane.messages:
            self._turns.append(conn)
        else:
            del self._lanes[conn]
        return frame
