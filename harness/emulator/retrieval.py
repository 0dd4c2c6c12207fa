"""Finding the passages that answer a question: SQLite full-text search over the paragraphs of the seeded sources.

A passage is a run of whole paragraphs under one heading, at most ``PASSAGE_UNITS`` long, like the cited passages of the
recorded answer. The database lives in memory and a query takes well under a millisecond, so it runs on the event loop.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable
from typing import Final

from attrs import frozen

from harness.emulator.document import Document
from harness.emulator.model import Source
from harness.emulator.wire_json import utf16_length

PASSAGE_UNITS: Final = 700
_SCHEMA: Final = (
    "CREATE VIRTUAL TABLE passages USING fts5(body, source_id UNINDEXED, first UNINDEXED, last UNINDEXED, "
    "tokenize = 'porter unicode61 remove_diacritics 2')"
)
_STOP_WORDS: Final = frozenset(
    ("a", "about", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does",
     "for", "from", "had", "has", "have", "how", "in", "is", "it", "its", "me", "my", "of", "on", "or", "our",
     "should", "so", "tell", "that", "the", "their", "then", "there", "they", "this", "to", "was", "we", "were",
     "what", "when", "where", "which", "who", "whom", "why", "will", "with", "would", "you", "your")
)  # fmt: skip


@frozen
class Passage:
    """Blocks ``first`` to ``last`` (exclusive) of a source; ``score`` between 0 and 1, higher is better."""

    source_id: str
    first: int
    last: int
    score: float


def search_words(question: str) -> list[str]:
    """Return the distinct words of a question that say something, in their order."""
    words = re.findall(r"\w+", question.casefold())
    return [word for word in dict.fromkeys(words) if word not in _STOP_WORDS and (len(word) > 1 or not word.isascii())]


def split_passages(document: Document) -> Iterable[tuple[int, int]]:
    """Cut a document into block ranges: at every heading, and before a range grows past ``PASSAGE_UNITS``."""
    first = 0
    size = 0
    for index, block in enumerate(document.blocks):
        length = utf16_length(block.text)
        begins_section = block.heading is not None
        if index > first and (begins_section or size + length > PASSAGE_UNITS):
            yield first, index
            first, size = index, 0
        size += length
    if first < len(document.blocks):
        yield first, len(document.blocks)


class PassageIndex:
    """Full-text index over sources; add and remove sources as the state changes."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(_SCHEMA)

    def close(self) -> None:
        self._database.close()

    def add(self, source: Source) -> None:
        document = source.document
        rows = [
            ("\n".join(block.text for block in document.blocks[first:last]), source.id, first, last)
            for first, last in split_passages(document)
        ]
        self._database.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", rows)

    def remove(self, source_id: str) -> None:
        self._database.execute("DELETE FROM passages WHERE source_id = ?", (source_id,))

    def search(self, question: str, source_ids: Collection[str], *, limit: int, per_source: int = 2) -> list[Passage]:
        """Return the best passages among the given sources, best first, at most ``per_source`` of each source."""
        words = search_words(question)
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        found: list[Passage] = []
        taken: dict[str, int] = {}
        rows = self._database.execute(
            "SELECT source_id, first, last, bm25(passages) FROM passages WHERE passages MATCH ? "
            "ORDER BY bm25(passages), source_id, first",
            (match,),
        )
        for source_id, first, last, rank in rows:
            if source_id not in source_ids or taken.get(source_id, 0) >= per_source:
                continue
            taken[source_id] = taken.get(source_id, 0) + 1
            found.append(Passage(source_id, first, last, _score(rank)))
            if len(found) == limit:
                break
        return found


def _score(bm25: float) -> float:
    """Squeeze SQLite's rank (negative, lower is better) into the range seen on the wire, 0.5 to 1."""
    return round(1 - 0.5 / (1 + abs(bm25)), 16)
