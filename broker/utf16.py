"""Convert the service's UTF-16 offsets into code point offsets (ADR-004).

The service counts as JavaScript does: characters above U+FFFF take two units. Python counts code points. Nothing is
normalised, trimmed or translated before a conversion: offsets belong to the exact text they were computed on (C-068).
Pure; imports nothing of ours.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from attrs import frozen

_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")


def utf16_length(text: str) -> int:
    """Return the number of UTF-16 units of `text`; an unpaired surrogate counts one."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@frozen
class Span:
    """A half-open range of code points."""

    start: int
    end: int

    def as_json(self) -> dict[str, int]:
        """Return the published form."""
        return {"start": self.start, "end": self.end}

    def of(self, text: str) -> str:
        """Return the covered piece of the text this span belongs to."""
        return text[self.start : self.end]


class SpanOutOfRange(ValueError):
    """The span is reversed, negative or ends behind the text. Slicing would have hidden it (C-070)."""


class Utf16Index:
    """Converts offsets into one text; built in linear time, each conversion is logarithmic.

    An offset inside a surrogate pair has no code point of its own: a span is then widened outward to whole characters,
    the only choice that loses no cited text (C-069).
    """

    def __init__(self, text: str) -> None:
        # Invariant: _second_halves[k] is the UTF-16 offset of the second half of the k-th pair, ascending.
        self._second_halves: list[int] = (
            []
            if text.isascii()
            else [number + match.start() + 1 for number, match in enumerate(_ASTRAL.finditer(text))]
        )
        self.length_utf16: int = len(text) + len(self._second_halves)

    def to_code_points(self, start_utf16: int, end_utf16: int) -> Span:
        """Convert a half-open span, widened outward where it cuts a pair.

        Raises:
            SpanOutOfRange: reversed, negative, or behind the end.
        """
        if not 0 <= start_utf16 <= end_utf16 <= self.length_utf16:
            raise SpanOutOfRange(f"[{start_utf16}, {end_utf16}) in a text of {self.length_utf16} units")
        pairs_before_start = bisect_left(self._second_halves, start_utf16)
        pairs_before_end = bisect_left(self._second_halves, end_utf16)
        start = start_utf16 - pairs_before_start
        end = end_utf16 - pairs_before_end
        if self._cuts_a_pair(pairs_before_start, start_utf16):
            start -= 1
        # An empty span stays empty: widening both ends of one cut would make a character out of nothing cited.
        return Span(start, start if start_utf16 == end_utf16 else end)

    def _cuts_a_pair(self, pairs_before: int, offset_utf16: int) -> bool:
        return pairs_before < len(self._second_halves) and self._second_halves[pairs_before] == offset_utf16
