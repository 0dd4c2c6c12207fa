"""Prove where a cited passage stands in its source, and build the citations that leave the broker.

A place is given only when slicing the source's full text there yields the quoted passage, letter for letter; otherwise
the reason is given instead (design, "Answers and citations"). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from attrs import field, frozen

from broker.citations import CitedAnswer, WireCitation
from broker.source_text import SourceText
from broker.utf16 import Span, SpanOutOfRange


class NoSourceSpan(StrEnum):
    """Why a citation has no place in its source; published as `source_span_reason`."""

    NOT_IN_NOTEBOOK = "source_not_in_notebook"
    TEXT_UNAVAILABLE = "source_text_unavailable"
    CONTRADICTION = "citation_contradicts_itself"
    PASSAGE_DIFFERS = "passage_differs_from_source_text"
    SOURCE_CHANGED = "source_changed_since_answer"


@frozen
class Citation:
    """One proven citation. Spans are half-open and count code points.

    `answer_spans` index the answer's plain text; `answer_span` is the first of them, None when the service lists the
    citation without any. Exactly one of `source_span` and `source_span_reason` is given.
    """

    number: int
    source_id: str
    source_title: str | None
    quote: str = field(repr=False)
    answer_spans: tuple[Span, ...]
    source_span: Span | None
    source_span_reason: NoSourceSpan | None
    score: float | None

    @property
    def answer_span(self) -> Span | None:
        return self.answer_spans[0] if self.answer_spans else None

    def as_json(self) -> dict[str, object]:
        """Return the published form; `CITATION_SCHEMA` describes it."""
        return {
            "number": self.number,
            "source_id": self.source_id,
            "source_title": self.source_title,
            "quote": self.quote,
            "answer_span": None if self.answer_span is None else self.answer_span.as_json(),
            "answer_spans": [span.as_json() for span in self.answer_spans],
            "source_span": None if self.source_span is None else self.source_span.as_json(),
            "source_span_reason": None if self.source_span_reason is None else str(self.source_span_reason),
            "score": self.score,
        }


def _span_schema(*, or_null: bool) -> dict[str, object]:
    offset: dict[str, object] = {"type": "integer", "minimum": 0}
    return {
        "type": ["object", "null"] if or_null else "object",
        "properties": {"start": offset, "end": offset},
        "required": ["start", "end"],
        "additionalProperties": False,
    }


CITATION_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "minimum": 1, "description": "The N of the mark [N] in `answer`."},
        "source_id": {"type": "string"},
        "source_title": {"type": ["string", "null"]},
        "quote": {"type": "string", "description": "The cited passage, as it stands in the source."},
        "answer_span": _span_schema(or_null=True),
        "answer_spans": {"type": "array", "items": _span_schema(or_null=False)},
        "source_span": _span_schema(or_null=True),
        "source_span_reason": {"type": ["string", "null"], "enum": [*map(str, NoSourceSpan), None]},
        "score": {"type": ["number", "null"]},
    },
    "required": [
        "number",
        "source_id",
        "source_title",
        "quote",
        "answer_span",
        "answer_spans",
        "source_span",
        "source_span_reason",
        "score",
    ],
    "additionalProperties": False,
}


@frozen
class GroundedAnswer:
    """A final answer with at least one citation; `text` is what the answer spans index."""

    markdown: str = field(repr=False)
    text: str = field(repr=False)
    citations: tuple[Citation, ...]

    def as_json(self) -> dict[str, object]:
        """Return the published members `answer`, `answer_text` and `citations`."""
        return {
            "answer": self.markdown,
            "answer_text": self.text,
            "citations": [citation.as_json() for citation in self.citations],
        }


def prove_source_span(citation: WireCitation, source: SourceText) -> Span | NoSourceSpan:
    """Return where the passage stands in the source's text, or why that cannot be said."""
    passage = citation.passage
    if passage.fault is not None or not passage.text:
        return NoSourceSpan.CONTRADICTION
    if citation.place_utf16 != (passage.start_utf16, passage.end_utf16):
        return NoSourceSpan.CONTRADICTION
    try:
        span = source.index.to_code_points(passage.start_utf16, passage.end_utf16)
    except SpanOutOfRange:
        span = None
    if span is not None and span.of(source.text) == passage.text:
        return span
    if citation.revision is not None and citation.revision != source.source.revision:
        return NoSourceSpan.SOURCE_CHANGED
    return NoSourceSpan.PASSAGE_DIFFERS


def grounded_answer(
    answer: CitedAnswer,
    titles: Mapping[str, str | None],
    texts: Mapping[str, SourceText],
) -> GroundedAnswer:
    """Put titles and proven places to an answer's citations.

    `titles` has every source of the notebook by id; `texts` has those whose text could be read.
    """
    return GroundedAnswer(
        answer.markdown, answer.text, tuple(_citation(citation, titles, texts) for citation in answer.citations)
    )


def _citation(citation: WireCitation, titles: Mapping[str, str | None], texts: Mapping[str, SourceText]) -> Citation:
    source = texts.get(citation.source_id)
    place: Span | NoSourceSpan
    if citation.source_id not in titles:
        place = NoSourceSpan.NOT_IN_NOTEBOOK
    elif source is None:
        place = NoSourceSpan.TEXT_UNAVAILABLE
    else:
        place = prove_source_span(citation, source)
    return Citation(
        number=citation.number,
        source_id=citation.source_id,
        source_title=titles.get(citation.source_id),
        quote=citation.passage.text,
        answer_spans=citation.answer_spans,
        source_span=place if isinstance(place, Span) else None,
        source_span_reason=None if isinstance(place, Span) else place,
        score=citation.score,
    )
