"""The service's document tree as plain text (wire reference, 4.3): source texts, answers, cited passages.

    Body      = [elements, annotations?]
    Element   = [start, end, Paragraph, null, Table, Image, CodeBlock, …]
    Paragraph = [runs, style, null, bullet]
    Run       = [start, end, [text, style?]]
    Table     = [rowCount, columnCount, [[start, end, [[start, end, elements], …cells]], …rows]]

The plain text is all run texts joined with nothing between them: offsets count in exactly that text, in UTF-16 units,
across paragraphs and cells. Each run, element, row and cell states its own place, and every statement is checked.
Pure.
"""

from __future__ import annotations

from typing import Final

from attrs import field, frozen

from broker.errors import UpstreamSchemaDrift
from broker.slots import Slot, texts_inside
from broker.utf16 import utf16_length

OBJECT_REPLACEMENT: Final = "\ufffc"
"""Stands for each unit of an image that takes up room: Unicode's own sign for an object without text."""
MAX_IMAGE_UTF16: Final = 1024
MAX_TABLE_DEPTH: Final = 16
"""Tables inside cells. Nothing that people write comes near; it bounds our recursion."""


@frozen
class Passage:
    """A piece of a document with the place it claims in the whole: `[start_utf16, end_utf16)`.

    `fault` is the first statement about a place that does not hold, None when all hold.
    """

    text: str = field(repr=False)
    start_utf16: int
    end_utf16: int
    # Two readings of one passage are equal when they read the same; an exception equals only itself.
    fault: UpstreamSchemaDrift | None = field(default=None, eq=False)


def document_text(elements: Slot | None) -> str:
    """Return the plain text of a whole document, which starts at offset 0. No elements is an empty document.

    Raises:
        UpstreamSchemaDrift: another shape, or a stated place that is not where the text is.
    """
    passage = read_passage(elements, start_utf16=0)
    if passage.fault is not None:
        raise passage.fault
    return passage.text


def read_passage(elements: Slot | None, *, start_utf16: int | None = None) -> Passage:
    """Return the text of some elements; faulty places are reported in the result, not raised.

    `start_utf16` None takes the place of the first element as given.

    Raises:
        UpstreamSchemaDrift: another shape.
    """
    if start_utf16 is None:
        start_utf16 = 0 if elements is None or len(elements) == 0 else elements.list_at(0).int_or_zero(0)
    walker = _Walker(start_utf16)
    if elements is not None:
        walker.take_elements(elements, 0)
    return Passage("".join(walker.texts), start_utf16, walker.position, walker.fault)


class _Walker:
    """Reads a tree from left to right. Invariant without a fault: `position` is where `texts` ends."""

    def __init__(self, start_utf16: int) -> None:
        self.position = start_utf16
        self.texts: list[str] = []
        self.fault: UpstreamSchemaDrift | None = None

    def take_elements(self, elements: Slot, table_depth: int) -> None:
        for element in elements.lists():
            self._expect(element, 0)
            self._take_content(element, table_depth)
            self._expect(element, 1)

    def _take_content(self, element: Slot, table_depth: int) -> None:
        paragraph = element.maybe_list(2)
        table = element.maybe_list(4)
        image = element.maybe_list(5)
        code_block = element.maybe_list(6)
        if paragraph is not None:
            paragraph.maybe_list(3)  # the bullet: read by nobody, but a list in both of its forms
            self._take_runs(paragraph.maybe_list(0))
        if table is not None:
            self._take_table(table, table_depth + 1)
        if image is not None:
            self._take_image(element)
        if code_block is not None:
            self._take_code_block(element, code_block)

    def _take_runs(self, runs: Slot | None) -> None:
        for run in () if runs is None else runs.lists():
            content = run.maybe_list(2)
            self._expect(run, 0)
            self._take_text("" if content is None else content.maybe_text(0) or "")
            self._expect(run, 1)

    def _take_table(self, table: Slot, table_depth: int) -> None:
        if table_depth > MAX_TABLE_DEPTH:
            raise table.drift(None, "tables nested less deeply")
        rows = table.maybe_list(2)
        for row in () if rows is None else rows.lists():
            self._expect(row, 0)
            cells = row.maybe_list(2)
            for cell in () if cells is None else cells.lists():
                self._expect(cell, 0)
                elements = cell.maybe_list(2)
                if elements is not None:
                    self.take_elements(elements, table_depth)
                self._expect(cell, 1)
            self._expect(row, 1)

    def _take_image(self, element: Slot) -> None:
        length_utf16 = max(0, element.int_or_zero(1) - self.position)
        if length_utf16 > MAX_IMAGE_UTF16:
            raise element.drift(5, "an image that takes up little room in the text", f"{length_utf16} units")
        self._take_text(OBJECT_REPLACEMENT * length_utf16)

    def _take_code_block(self, element: Slot, code_block: Slot) -> None:
        # Never recorded. Whatever its slots are, the code is the one text inside that is as long as the element says.
        length_utf16 = element.int_or_zero(1) - self.position
        if length_utf16 <= 0:
            return
        fitting = {text for text in texts_inside(code_block.values) if utf16_length(text) == length_utf16}
        if len(fitting) != 1:
            raise element.drift(6, f"a code block with one text of {length_utf16} units")
        self._take_text(fitting.pop())

    def _take_text(self, text: str) -> None:
        self.texts.append(text)
        self.position += utf16_length(text)

    def _expect(self, item: Slot, index: int) -> None:
        """Note a fault when the start (index 0) or end (index 1) that `item` states is not where we are."""
        stated = item.int_or_zero(index)
        if stated == self.position:
            return
        if self.fault is None:
            self.fault = item.drift(index, f"offset {self.position}", str(stated))
        # Go on from what the service says, so that one fault does not make all later places look wrong.
        self.position = stated
