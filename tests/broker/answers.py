"""A small writer of answer events, independent of the emulator's: text, citations and spans in, wire value out."""

from __future__ import annotations

import copy
from typing import Any

from broker.utf16 import utf16_length

SOURCE_1 = "5e000000-0001-4000-8000-000000000001"
SOURCE_2 = "5e000000-0002-4000-8000-000000000002"
REVISION = "aa000000-0000-4000-8000-0000000000aa"
IDENTITY: list[Any] = ["c0ffee00-0000-4000-8000-000000000001", "c0ffee00-0000-4000-8000-000000000002", 1234567890]


def elements(*paragraphs: str, start: int = 0) -> list[Any]:
    """Write one paragraph with one run per text."""
    written: list[Any] = []
    for text in paragraphs:
        end = start + utf16_length(text)
        written.append([start, end, [[[start, end, [text]]], [None, 1]]])
        start = end
    return written


def citation(chunk_id: str, quote: str, start: int, source: str = SOURCE_1, revision: str = REVISION) -> list[Any]:
    """Write one citation whose passage stands at `start` (UTF-16) in its source."""
    end = start + utf16_length(quote)
    slices = [elements(quote, start=start)]
    return [None, None, 0.66, [[None, start, end]], slices, [[[source], revision]], [chunk_id]]


def thinking(text: str) -> list[Any]:
    return [[text, None, IDENTITY, None, [[[]], None, None, None, 2]], None, None, None, False]


def answer(
    markdown: str,
    paragraphs: list[str],
    citations: list[list[Any]] | None = None,
    spans: list[tuple[int, int, list[int]]] | None = None,
    *,
    final: bool = False,
) -> list[Any]:
    """Write one answer event; `spans` are (start, end, citation indexes) in UTF-16 units of the plain text."""
    citations = citations or []
    spans = spans or []
    annotations = [[[citations[index][6][0]], [None, start, end]] for start, end, indexes in spans for index in indexes]
    body: list[Any] = [elements(*paragraphs), annotations] if annotations else [elements(*paragraphs)]
    objects = [[[row[6][0]], copy.deepcopy(row)] for row in citations]
    record = [markdown, None, IDENTITY, None, [body, None, None, objects or None, 1]]
    markers = [[[None, start, end], indexes] for start, end, indexes in spans]
    tail: list[Any] = [[["Next?"]], True, [[["Next?", 9]]]] if final else [None, False]
    return [record, citations or None, markers or None, *tail]
