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

from attrs import frozen

from harness.emulator.wire_json import Json, utf16_length

NORMAL_STYLE: Final = 1
HEADING_STYLES: Final = {1: 4, 2: 5, 3: 6}
BULLET_GLYPH: Final = "•"
BULLETED_LIST: Final = 1
_INLINE: Final = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`")
_CODE_STYLE_SLOT: Final = 7


@frozen
class Run:
    """A piece of text in one style."""

    text: str
    bold: bool = False
    code: bool = False

    def style(self) -> list[Json] | None:
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
        if merged and (merged[-1].bold, merged[-1].code) == (run.bold, run.code):
            merged[-1] = Run(merged[-1].text + run.text, run.bold, run.code)
        else:
            merged.append(run)
    return tuple(merged)


def parse_runs(line: str) -> tuple[Run, ...]:
    """Split a line of our small Markdown (``**bold**`` and `` `code` `` only) into runs."""
    runs: list[Run] = []
    end = 0
    for match in _INLINE.finditer(line):
        runs.append(Run(line[end : match.start()]))
        bold, code = match["bold"], match["code"]
        runs.append(Run(bold, bold=True) if bold is not None else Run(code, code=True))
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

    @property
    def text(self) -> str:
        """The plain text that all offsets index."""
        return "".join(block.text for block in self.blocks)

    def elements(self, first: int = 0, last: int | None = None, *, plain_style: bool = True) -> list[Json]:
        """Return blocks ``first`` to ``last`` (exclusive) as Elements with their offsets in the whole document.

        Source texts state the normal style (``plain_style``), answers leave it out [recorded].
        """
        stop = len(self.blocks) if last is None else last
        return [self._element(index, plain_style) for index in range(first, stop)]

    def _element(self, index: int, plain_style: bool) -> Json:
        block = self.blocks[index]
        position = self.starts[index]
        runs: list[Json] = []
        for run in block.runs:
            end = position + utf16_length(run.text)
            style = run.style()
            runs.append([position, end, [run.text] if style is None else [run.text, style]])
            position = end
        return [self.starts[index], self.starts[index + 1], _paragraph(block, runs, plain_style)]


def _paragraph(block: Block, runs: list[Json], plain_style: bool) -> list[Json]:
    if block.heading is not None:
        return [runs, [None, HEADING_STYLES[block.heading]]]
    if block.ordinal is not None:
        # The glyph, list type, ordinal and position sit at index 100 to 103, padded with nulls [recorded].
        bullet: list[Json] = [
            None,
            None,
            0,
            *[None] * 97,
            BULLET_GLYPH,
            BULLETED_LIST,
            block.ordinal + 1,
            block.ordinal,
        ]
        return [runs, [None, NORMAL_STYLE], None, bullet]
    return [runs, [None, NORMAL_STYLE]] if plain_style else [runs]


def word_count(blocks: Sequence[Block]) -> int:
    return sum(len(block.text.split()) for block in blocks)
