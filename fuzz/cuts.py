"""Cutting an input into pieces, by nothing but the input itself, so that each failure happens again."""

from __future__ import annotations

from typing import TypeVar

Stream = TypeVar("Stream", bytes, str)

MAX_PIECE = 61  # a prime: pieces fall out of step with every power of two


def pieces_of(stream: Stream, salt: int = 0) -> list[Stream]:
    """Cut `stream` into pieces of 1 to 61 units; another `salt` cuts elsewhere."""
    pieces: list[Stream] = []
    at = 0
    while at < len(stream):
        unit = stream[at]
        value = unit if isinstance(unit, int) else ord(unit)
        size = 1 + (value * 31 + at * 7 + salt) % MAX_PIECE
        pieces.append(stream[at : at + size])
        at += size
    return pieces
