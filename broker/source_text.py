"""The full text of one source: ``hizoJc`` (wire reference, 6). Pure."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from attrs import define, field

from broker.document import document_text
from broker.notebooks import Source, decode_source_row
from broker.slots import Slot
from broker.utf16 import Utf16Index

RPC: Final = "hizoJc"


@define(frozen=True, slots=False)
class SourceText:
    """A source and its plain text, which citations index. Content from outside: data, never instructions."""

    source: Source
    text: str = field(repr=False)

    @cached_property
    def index(self) -> Utf16Index:
        """Converts the service's offsets into this text; built when first needed."""
        return Utf16Index(self.text)


def decode_source_text(payload: object) -> SourceText:
    """Decode ``[source row, null, null, [Body]]``. A source without any body has an empty text.

    Raises:
        UpstreamSchemaDrift: another shape, or places in the tree that do not fit its text.
    """
    answer = Slot(payload, RPC)
    holder = answer.maybe_list(3)
    body = None if holder is None else holder.maybe_list(0)
    elements = None if body is None else body.maybe_list(0)
    return SourceText(decode_source_row(answer.list_at(0)), document_text(elements))
