"""The final state of an answer: its text, its citations, and the words each one backs (wire reference, 8.2, 8.3).

The wire says three times where an answer is backed: in the offsets of the document's own runs, in the annotations by
chunk id, and in the marker map by citation index. They must agree, or nothing leaves this module (design, "Answers and
citations"). All of them count in the plain document text, never in the Markdown (C-065). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve, field, frozen

from broker.document import Passage, document_text, read_passage
from broker.errors import UngroundedResponse
from broker.notebooks import read_id
from broker.slots import Slot
from broker.utf16 import Span, SpanOutOfRange, Utf16Index

MAX_UNGROUNDED_CHARS: Final = 20_000
"""Ungrounded text is shown for diagnosis only."""


@frozen
class WireCitation:
    """One citation as the wire has it. `number` is what the Markdown marks, from 1.

    `place_utf16` is where the service says the passage stands in its source; `passage` states the same once more by its
    own offsets. Both are claims: `broker.source_spans` proves them against the source's text.
    """

    number: int
    chunk_id: str
    source_id: str
    revision: str | None
    score: float | None
    place_utf16: tuple[int, int] | None
    passage: Passage
    answer_spans: tuple[Span, ...] = ()


@frozen
class CitedAnswer:
    """The final state of one answer.

    `markdown` is the service's text with ``[N]`` marks; `text` is the plain document text. Invariant: every answer span
    lies inside `text`, in code points.
    """

    markdown: str = field(repr=False)
    text: str = field(repr=False)
    citations: tuple[WireCitation, ...] = ()


def decode_final_answer(event: Slot) -> CitedAnswer:
    """Decode the event that carries the final flag.

    Raises:
        UpstreamSchemaDrift: another shape, or the places that carry answer spans disagree.
    """
    record = event.maybe_list(0)
    tree = None if record is None else record.maybe_list(4)
    if record is None or tree is None:
        return CitedAnswer("", "")
    body = tree.maybe_list(0)
    text = document_text(None if body is None else body.maybe_list(0))
    citations = [_decode_citation(row, number) for number, row in enumerate(_rows(event, 1), start=1)]
    _check_objects(tree, citations)
    spans = _marked_spans(event, len(citations))
    annotations = None if body is None else body.maybe_list(1)
    _check_annotations(event, annotations, citations, spans)
    if citations and not spans:
        raise event.drift(2, "at least one answer span beside the citations")
    return CitedAnswer(
        markdown=record.maybe_text(0) or "",
        text=text,
        citations=tuple(_with_answer_spans(event, text, citations, spans)),
    )


def require_grounded(answer: CitedAnswer) -> None:
    """Refuse an answer that cites nothing (ADR-015). A bracketed number in the text is no citation (C-066).

    Raises:
        UngroundedResponse: the text is under ``details.ungrounded_text`` and nowhere else.
    """
    if answer.citations:
        return
    raise UngroundedResponse(
        "the final answer cites no source; details.ungrounded_text is what the model wrote, without any proof",
        details={"ungrounded_text": answer.markdown[:MAX_UNGROUNDED_CHARS]},
    )


def _decode_citation(row: Slot, number: int) -> WireCitation:
    places = row.maybe_list(3)
    place = None if places is None else places.maybe_list(0)
    slices = row.maybe_list(4)
    origin = row.list_at(5).list_at(0)
    return WireCitation(
        number=number,
        chunk_id=row.list_at(6).text(0),
        source_id=read_id(origin.list_at(0), 0),
        revision=origin.maybe_text(1),
        score=row.maybe_number(2),
        place_utf16=None if place is None else (place.int_or_zero(1), place.int_or_zero(2)),
        passage=read_passage(None if slices is None else slices.maybe_list(0)),
    )


def _check_objects(tree: Slot, citations: list[WireCitation]) -> None:
    """The document repeats the citations under their chunk ids, in the same order (recorded in all chunks)."""
    repeated: list[WireCitation] = []
    for number, row in enumerate(_rows(tree, 3), start=1):
        citation = _decode_citation(row.list_at(1), number)
        if row.list_at(0).text(0) != citation.chunk_id:
            raise row.drift(0, "the chunk id of the citation beside it", "another")
        repeated.append(citation)
    if repeated != citations:
        raise tree.drift(3, "the same citations as in $[1]", f"{len(repeated)} citations that differ")
    if len({citation.chunk_id for citation in citations}) != len(citations):
        raise tree.drift(3, "one chunk id per citation", "one chunk id twice")


def _marked_spans(event: Slot, citation_count: int) -> list[tuple[int, int, int]]:
    """Read the marker map ``[[[null, start, end], [i, …]], …]`` as (start, end, i)."""
    spans: list[tuple[int, int, int]] = []
    for row in _rows(event, 2):
        start, end = _span(row.list_at(0))
        numbers = row.list_at(1)
        for position in range(len(numbers)):
            citation = numbers.int_or_zero(position)
            if not 0 <= citation < citation_count:
                raise numbers.drift(position, f"one of {citation_count} citations", "another number")
            spans.append((start, end, citation))
    return spans


def _check_annotations(
    event: Slot, annotations: Slot | None, citations: list[WireCitation], marked: list[tuple[int, int, int]]
) -> None:
    """Compare the annotations ``[[[chunk id], [null, start, end]], …]`` with the marker map."""
    number_of = {citation.chunk_id: position for position, citation in enumerate(citations)}
    annotated: list[tuple[int, int, int]] = []
    for row in () if annotations is None else annotations.lists():
        chunk_id = row.list_at(0).text(0)
        if chunk_id not in number_of:
            raise row.drift(0, "the chunk id of a citation", "an unknown one")
        annotated.append((*_span(row.list_at(1)), number_of[chunk_id]))
    if sorted(annotated) != sorted(marked):
        raise event.drift(2, "the same answer spans as the annotations in $[0][4][0][1]", "spans that differ")


def _with_answer_spans(
    event: Slot, text: str, citations: list[WireCitation], spans: list[tuple[int, int, int]]
) -> Iterator[WireCitation]:
    index = Utf16Index(text)
    code_points: list[list[Span]] = [[] for _ in citations]
    for start, end, citation in sorted(spans):
        try:
            code_points[citation].append(index.to_code_points(start, end))
        except SpanOutOfRange:
            expected = f"spans inside the {index.length_utf16} units of the answer"
            raise event.drift(2, expected, f"[{start}, {end})") from None
    for citation, found in zip(citations, code_points, strict=True):
        yield evolve(citation, answer_spans=tuple(found))


def _span(row: Slot) -> tuple[int, int]:
    return row.int_or_zero(1), row.int_or_zero(2)


def _rows(slot: Slot, index: int) -> list[Slot]:
    rows = slot.maybe_list(index)
    return [] if rows is None else list(rows.lists())
