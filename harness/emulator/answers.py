"""Writing an answer from retrieved passages, and the versions through which it grows. Pure.

A draft is blocks of pieces; a piece that claims something names the citations behind it. Rendering gives the three
forms that have to agree: Markdown with ``[1, 2]`` markers, the document without any marks, and the spans over it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs
from attrs import frozen

from harness.emulator.document import Block, Document, Run, merge_runs
from harness.emulator.model import Source
from harness.emulator.retrieval import Passage, search_words
from harness.emulator.wire_json import utf16_length

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[.!?]”)\s+")
_STEM_LENGTH: Final = 5
NOTHING_FOUND: Final = "The sources say nothing about this."


@frozen
class CitedPassage:
    """A retrieved passage with its source; its place in the list is the citation's index."""

    source: Source
    passage: Passage

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self._body())

    def _body(self) -> list[Block]:
        blocks = list(self.source.document.blocks[self.passage.first : self.passage.last])
        return [block for block in blocks if block.heading is None] or blocks

    def best_sentence(self, words: Sequence[str]) -> str:
        """Return the sentence that shares most words with the question, the earlier one on a tie."""
        sentences = [part for block in self._body() for part in _SENTENCE_END.split(block.text) if part]
        stems = {word[:_STEM_LENGTH] for word in words}
        return max(sentences, key=lambda text: len(stems & {word[:_STEM_LENGTH] for word in search_words(text)}))


@frozen
class Piece:
    """Text in one or more runs. ``citations`` are 0-based; empty for text that claims nothing."""

    runs: tuple[Run, ...]
    citations: tuple[int, ...] = ()


@frozen
class DraftBlock:
    pieces: tuple[Piece, ...]
    ordinal: int | None = None


@frozen
class AnswerSpan:
    """Half-open range of the document text in UTF-16 units, with the citations that back it."""

    start: int
    end: int
    citations: tuple[int, ...]


@frozen
class RenderedAnswer:
    markdown: str
    document: Document
    spans: tuple[AnswerSpan, ...]

    @property
    def citation_count(self) -> int:
        return 1 + max((index for span in self.spans for index in span.citations), default=-1)


def compose(question: str, notebook_title: str, cited: Sequence[CitedPassage]) -> tuple[DraftBlock, ...]:
    """Write the whole answer: an opening line, one list item per passage, and a closing line backed by two of them."""
    if not cited:
        return (DraftBlock((_plain(NOTHING_FOUND),)),)
    words = search_words(question)
    opening = DraftBlock((_plain("This is what the sources in "), _bold(notebook_title), _plain(" say:")))
    items = [
        _list_item(index, entry.source.title, entry.best_sentence(words), ordinal=index)
        for index, entry in enumerate(cited)
    ]
    shared = [word for word in words if any(word in entry.text.casefold() for entry in cited)][:3] or words[:1]
    terms = tuple(run for index, word in enumerate(shared) for run in _listed_term(index, word))
    backing = (0,) if len(cited) == 1 else (0, len(cited) - 1)
    closing = DraftBlock(
        (_plain("Read together, "), Piece((Run("the passages meet on "), *terms), backing), _plain("."))
    )
    return (opening, *items, closing)


def _listed_term(index: int, word: str) -> tuple[Run, ...]:
    return (Run(word, code=True),) if index == 0 else (Run(", "), Run(word, code=True))


def _list_item(citation: int, title: str, sentence: str, ordinal: int) -> DraftBlock:
    claim = sentence.removesuffix(".")
    pieces = [_bold(f"{title}:"), _plain(" "), Piece((Run(claim),), (citation,))]
    if claim != sentence:
        pieces.append(_plain("."))
    return DraftBlock(tuple(pieces), ordinal)


def _plain(text: str) -> Piece:
    return Piece((Run(text),))


def _bold(text: str) -> Piece:
    return Piece((Run(text, bold=True),))


def growth(draft: tuple[DraftBlock, ...]) -> Iterator[tuple[DraftBlock, ...]]:
    """Yield the versions that are sent, shortest first, the whole draft last.

    The version before the last has one citation less behind its last claim, so that ``[1]`` becomes ``[1, 2]`` (or
    nothing becomes ``[1]``) and the final text does not begin with the one before it, as in the recording.
    """
    for index, block in enumerate(draft):
        if block.ordinal is not None:
            yield (*draft[:index], attrs.evolve(block, pieces=block.pieces[:1]))
        if index < len(draft) - 1:
            yield draft[: index + 1]
    last = draft[-1]
    if any(piece.citations for piece in last.pieces):
        weaker = tuple(attrs.evolve(piece, citations=piece.citations[:-1]) for piece in last.pieces)
        yield (*draft[:-1], attrs.evolve(last, pieces=weaker))
    yield draft


def without_citations(draft: tuple[DraftBlock, ...]) -> tuple[DraftBlock, ...]:
    """Return the same text with nothing behind it."""
    return tuple(
        attrs.evolve(block, pieces=tuple(attrs.evolve(piece, citations=()) for piece in block.pieces))
        for block in draft
    )


def render(draft: Sequence[DraftBlock]) -> RenderedAnswer:
    """Give a draft its three forms."""
    markdown: list[str] = []
    blocks: list[Block] = []
    spans: list[AnswerSpan] = []
    position = 0
    for number, block in enumerate(draft):
        in_list = block.ordinal is not None
        if number:
            markdown.append("\n" if in_list and draft[number - 1].ordinal is not None else "\n\n")
        markdown.append("*   " if in_list else "")
        for piece in block.pieces:
            length = sum(utf16_length(run.text) for run in piece.runs)
            markdown += [run.markdown() for run in piece.runs]
            if piece.citations:
                spans.append(AnswerSpan(position, position + length, piece.citations))
                markdown.append(f" [{', '.join(str(index + 1) for index in piece.citations)}]")
            position += length
        runs = merge_runs(run for piece in block.pieces for run in piece.runs)
        blocks.append(Block(runs, ordinal=block.ordinal))
    return RenderedAnswer("".join(markdown), Document(tuple(blocks)), tuple(spans))


def thinking_notes(question: str, cited: Sequence[CitedPassage]) -> list[tuple[str, str]]:
    """Return the titles and texts of the two thinking notes that come before the answer."""
    words = ", ".join(search_words(question)[:4]) or "the question"
    titles = ", ".join(dict.fromkeys(entry.source.title for entry in cited)) or "none of them"
    return [
        ("Reading the question", f"I'm looking for {words} in the sources of this notebook."),
        ("Weighing the passages", f"I've found {len(cited)} passages that may answer it, in these sources: {titles}."),
    ]


def follow_ups(notebook_title: str, cited: Sequence[CitedPassage]) -> list[str]:
    """Return three questions to ask next."""
    titles = list(dict.fromkeys(entry.source.title for entry in cited))[:2]
    questions = [f"What else does “{title}” say?" for title in titles]
    spare = ["Which dates are mentioned?", "Who is quoted?", f"What is {notebook_title} about?"]
    return (questions + spare)[:3]
