"""A grounded answer as `query_notebook` shows it: the JSON form, its schema, and how it is made to fit. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from broker.published import MAX_RESULT_CHARS, Row, shown_title
from broker.schemas import JsonSchema, closed_object, flag, list_of, number, or_null, text, whole_number

if TYPE_CHECKING:  # the schema is published at every start, the codecs are needed by an answer only
    from broker.source_spans import Citation, GroundedAnswer
    from broker.utf16 import Span

NO_SPAN_REASONS: Final = (
    "source_not_in_notebook",
    "source_text_unavailable",
    "citation_contradicts_itself",
    "passage_differs_from_source_text",
    "source_changed_since_answer",
)
"""The values of `broker.source_spans.NoSourceSpan`; a test compares the two."""

QUOTE_CHARS: Final = 600
"""What is left of a quoted passage when the whole result is too long."""
ANSWER_CHARS: Final = 12_000
"""What is left of each of the two answer texts when even that was not enough."""

_SPAN: Final = closed_object(
    {"start": whole_number(minimum=0), "end": whole_number(minimum=0)}, required=("start", "end")
)

CITATION_SCHEMA: Final = closed_object(
    {
        "number": whole_number("The N of the mark [N] in answer.", minimum=1),
        "source_id": text(),
        "source_title": text(),
        "quote": text("The cited passage as it stands in the source."),
        "quote_truncated": flag("True when the quote was cut to fit."),
        "answer_span": {**or_null(_SPAN), "description": "First cited place, code points of answer_text; or null."},
        "answer_spans": list_of(_SPAN, "Every cited place, half-open, code points of answer_text."),
        "source_span": {
            **or_null(_SPAN),
            "description": "Where the quote stands, code points of the source's full text; null when not proven.",
        },
        "source_span_reason": text("Why source_span is null.", enum=[*NO_SPAN_REASONS]),
        "score": number("The service's own relevance, 0 to 1."),
    },
    required=("number", "source_id", "source_title", "quote", "answer_span", "answer_spans", "source_span"),
)

ANSWER_FACTS: Final[dict[str, JsonSchema]] = {
    "answer": text("The answer in Markdown as the service wrote it, with marks [N]."),
    "answer_text": text("The same as plain text; answer spans index it."),
    "citations": list_of(CITATION_SCHEMA),
    "truncated": list_of(
        text(enum=["quotes", "answer", "answer_text", "citations"]), "What was cut to fit; absent when nothing was."
    ),
}


def answer_facts(grounded: GroundedAnswer) -> Row:
    """Return what `ANSWER_FACTS` describes, cut until it fits into one result."""
    facts: Row = {
        "answer": grounded.markdown,
        "answer_text": grounded.text,
        "citations": [_citation_row(citation, len(citation.quote)) for citation in grounded.citations],
    }
    if _fits(facts):
        return facts
    facts["citations"] = [_citation_row(citation, QUOTE_CHARS) for citation in grounded.citations]
    facts["truncated"] = ["quotes"]
    if _fits(facts):
        return facts
    return _cut_answer(grounded)


def _cut_answer(grounded: GroundedAnswer) -> Row:
    """Keep the beginning of both texts, and the citations whose every span still lies inside."""
    kept = [each for each in grounded.citations if all(span.end <= ANSWER_CHARS for span in each.answer_spans)]
    facts: Row = {
        "answer": grounded.markdown[:ANSWER_CHARS],
        "answer_text": grounded.text[:ANSWER_CHARS],
        "citations": [_citation_row(citation, QUOTE_CHARS) for citation in kept],
        "truncated": ["quotes", "answer", "answer_text", "citations"],
    }
    while kept and not _fits(facts):
        kept = kept[: len(kept) * 3 // 4]
        facts["citations"] = [_citation_row(citation, QUOTE_CHARS) for citation in kept]
    return facts


def _fits(facts: Row) -> bool:
    # Some room is left for the members around the answer.
    return len(orjson.dumps(facts).decode()) <= MAX_RESULT_CHARS - 2_000


def _citation_row(citation: Citation, max_quote_chars: int) -> Row:
    row: Row = {
        "number": citation.number,
        "source_id": citation.source_id,
        "source_title": shown_title(citation.source_title),
        "quote": citation.quote[:max_quote_chars],
        "answer_span": _span_row(citation.answer_span),
        "answer_spans": [_span_row(span) for span in citation.answer_spans],
        "source_span": _span_row(citation.source_span),
    }
    if len(citation.quote) > max_quote_chars:
        row["quote_truncated"] = True
    if citation.source_span_reason is not None:
        row["source_span_reason"] = str(citation.source_span_reason)
    if citation.score is not None:
        row["score"] = citation.score
    return row


def _span_row(span: Span | None) -> Row | None:
    return None if span is None else {"start": span.start, "end": span.end}
