"""Feeding a line splitter with a stream in pieces."""

from __future__ import annotations

from collections.abc import Iterable

from broker.json_lines import LineSplitter, OversizedLine


def split(pieces: Iterable[bytes], limit_bytes: int = 100) -> list[bytes | OversizedLine]:
    """Return every line that comes out."""
    splitter = LineSplitter(limit_bytes)
    lines: list[bytes | OversizedLine] = []
    for piece in pieces:
        splitter.feed_untrusted(piece)
        while (line := splitter.maybe_next_line()) is not None:
            lines.append(line)
    return lines
