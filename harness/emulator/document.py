"""Document trees: the shape in which the service keeps source texts, answers and passages (wire reference §4.3). Pure.

    Element   = [start, end, Paragraph]
    Paragraph = [runs, [null, style]?, null?, bullet?]
    Run       = [start, end, [text, TextStyle?]]

Offsets are UTF-16 code units in the concatenation of all run texts; nothing stands between two paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

import attrs
from attrs import frozen

from harness.emulator.wire_json import Json, utf16_length

NORMAL_STYLE: Final = 1
HEADING_STYLES: Final = {1: 4, 2: 5, 3: 6}
BULLET_GLYPH: Final = "•"
BULLETED_LIST: Final = 1
_INLINE: Final = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`|\[(?P<linked>[^\]]+)\]\((?P<link>[^)]*)\)")
_LINK_STYLE_SLOT: Final = 3
_CODE_STYLE_SLOT: Final = 7


@frozen
class Run:
    """A piece of text in one style."""

    text: str
    bold: bool = False
    code: bool = False
    link: str | None = None
    """An address; empty for a link that leads nowhere, of which recorded pages are full."""

    def style(self) -> list[Json] | None:
        if self.link is not None:
            return [*[None] * _LINK_STYLE_SLOT, self.link]
        if self.code:
            return [*[None] * _CODE_STYLE_SLOT, True]
        return [True] if self.bold else None

    def markdown(self) -> str:
        return f"**{self.text}**" if self.bold else f"`{self.text}`" if self.code else self.text


@frozen
class Block:
    """One paragraph: plain, a heading (``heading`` 1 to 3) or an item of a bulleted list (``ordinal`` from 0)."""

    runs: tuple[Run, ...]
    heading: int | None = None
    ordinal: int | None = None

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


def merge_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Join neighbours of one style and drop empty runs, so that no run border is there without a reason."""
    merged: list[Run] = []
    for run in runs:
        if not run.text:
            continue
        if merged and attrs.evolve(merged[-1], text=run.text) == run:
            merged[-1] = attrs.evolve(run, text=merged[-1].text + run.text)
        else:
            merged.append(run)
    return tuple(merged)


def parse_runs(line: str) -> tuple[Run, ...]:
    """Split a line of our small Markdown (``**bold**``, `` `code` ``, ``[text](link)``) into runs."""
    runs: list[Run] = []
    end = 0
    for match in _INLINE.finditer(line):
        runs.append(Run(line[end : match.start()]))
        if match["bold"] is not None:
            runs.append(Run(match["bold"], bold=True))
        elif match["code"] is not None:
            runs.append(Run(match["code"], code=True))
        else:
            runs.append(Run(match["linked"], link=match["link"]))
        end = match.end()
    runs.append(Run(line[end:]))
    return merge_runs(runs)


@frozen
class Document:
    """Blocks with their places: block ``i`` covers ``[starts[i], starts[i + 1])`` in UTF-16 units."""

    blocks: tuple[Block, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        starts = [0]
        for block in self.blocks:
            starts.append(starts[-1] + utf16_length(block.text))
        return tuple(starts)

    @classmethod
    def parse(cls, text: str) -> Document:
        """Read our small Markdown: ``#`` headings, ``-`` list items, every other non-empty line a paragraph."""
        blocks: list[Block] = []
        for line in text.splitlines():
            stripped = line.strip()
            if not stripped:
                continue
            if heading := re.match(r"(#{1,3}) +(.+)", stripped):
                blocks.append(Block(parse_runs(heading[2]), heading=len(heading[1])))
            elif stripped.startswith("- "):
                before = blocks[-1].ordinal if blocks else None
                blocks.append(Block(parse_runs(stripped[2:]), ordinal=0 if before is None else before + 1))
            else:
                blocks.append(Block(parse_runs(stripped)))
        return cls(tuple(blocks))

    @classmethod
    def plain(cls, text: str) -> Document:
        """Take every line that is not blank as a paragraph, exactly as it stands."""
        return cls(tuple(Block((Run(line),)) for line in text.splitlines() if line.strip()))

    @property
    def text(self) -> str:
        """The plain text that all offsets index."""
        return "".join(block.text for block in self.blocks)

    def elements(self, first: int = 0, last: int | None = None, *, answer: bool = False) -> list[Json]:
        """Return blocks ``first`` to ``last`` (exclusive) as Elements with their offsets in the whole document.

        Answers are written a little differently from source texts, see ``_paragraph``.
        """
        stop = len(self.blocks) if last is None else last
        return [self._element(index, answer) for index in range(first, stop)]

    def _element(self, index: int, answer: bool) -> Json:
        block = self.blocks[index]
        position = self.starts[index]
        runs: list[Json] = []
        for run in block.runs:
            end = position + utf16_length(run.text)
            style = run.style()
            runs.append([position, end, [run.text] if style is None else [run.text, style]])
            position = end
        return [self.starts[index], self.starts[index + 1], _paragraph(block, runs, answer)]


def _paragraph(block: Block, runs: list[Json], answer: bool) -> list[Json]:
    """Return a paragraph as it was recorded.

    Source texts state the normal style, and their list items carry their number as glyph and count from 1. Answers
    leave the style out except on list items, which carry a level, a bullet glyph and a position from 0.
    """
    if block.heading is not None:
        return [runs, [None, HEADING_STYLES[block.heading]]]
    if block.ordinal is not None:
        number = block.ordinal + 1
        level, glyph, position = (0, BULLET_GLYPH, block.ordinal) if answer else (None, str(number), number)
        bullet: list[Json] = [None, None, level, *[None] * 97, glyph, BULLETED_LIST, number, position]  # from index 100
        return [runs, [None, NORMAL_STYLE], None, bullet]
    return [runs] if answer else [runs, [None, NORMAL_STYLE]]


def word_count(blocks: Sequence[Block]) -> int:
    return sum(len(block.text.split()) for block in blocks)
