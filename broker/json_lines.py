"""Cut a byte stream into lines, with a limit. Pure: bytes in, lines out; it never reads or decodes.

MCP over stdio is one JSON message per line feed. Only 0x0A ends a line: U+2028, U+2029, U+0085 and a bare 0x0D are
ordinary content (C-007), a 0x0D before the line feed and blank lines are tolerated (C-006).
"""

from __future__ import annotations

from attrs import frozen


@frozen
class OversizedLine:
    """Stands in the place of a line that was longer than the limit and has been dropped."""

    limit_bytes: int


class LineSplitter:
    """Collects bytes and hands out whole lines, without their line feed.

    What comes out does not depend on how the bytes were cut on the way (C-008). An oversized line is reported as soon
    as it is known to be one, and the rest of it is thrown away as it arrives, so memory stays near the limit.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._buffer = bytearray()
        self._scanned = 0  # Invariant: no line feed in self._buffer[:self._scanned].
        self._skipping = False  # Invariant: while skipping, the buffer holds only bytes of the oversized line.

    def feed_untrusted(self, data: bytes) -> None:
        """Take bytes as they arrived."""
        self._buffer += data

    def maybe_next_line(self) -> bytes | OversizedLine | None:
        """Return the next line that is not blank, or None when more bytes are needed."""
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            if self._skipping:
                self._skipping = False
            elif len(line) > self._limit_bytes:
                return OversizedLine(self._limit_bytes)
            elif line.strip():
                return line
        return self._maybe_oversized_tail()

    def _maybe_oversized_tail(self) -> OversizedLine | None:
        newly_oversized = not self._skipping and len(self._buffer) > self._limit_bytes
        if newly_oversized:
            self._skipping = True
        if self._skipping:
            self._buffer.clear()
        self._scanned = len(self._buffer)
        return OversizedLine(self._limit_bytes) if newly_oversized else None
