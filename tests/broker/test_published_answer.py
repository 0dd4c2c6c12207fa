from __future__ import annotations

from typing import Any

import orjson
import pytest

from broker.published import MAX_RESULT_CHARS
from broker.published_answer import ANSWER_CHARS, ANSWER_FACTS, NO_SPAN_REASONS, QUOTE_CHARS, answer_facts
from broker.schema_check import compile_schema
from broker.schemas import closed_object
from broker.source_spans import Citation, GroundedAnswer, NoSourceSpan
from broker.utf16 import Span

CHECK = compile_schema(closed_object(ANSWER_FACTS, required=("answer", "answer_text", "citations")))


def citation(number: int, quote: str = "quote", spans: tuple[Span, ...] = (Span(0, 2),), **more: Any) -> Citation:
    facts: dict[str, Any] = {"source_span": Span(5, 9), "source_span_reason": None, "score": 0.5, **more}
    return Citation(number, f"source-{number}", "Title", quote, spans, **facts)


def facts_of(*citations: Citation, text: str = "text") -> dict[str, Any]:
    facts = answer_facts(GroundedAnswer(f"**{text}** [1]", text, citations))
    assert CHECK(facts) is None
    assert len(orjson.dumps(facts).decode()) <= MAX_RESULT_CHARS
    return facts


def test_a_usual_answer_is_shown_whole():
    facts = facts_of(citation(1), citation(2, spans=(Span(1, 2), Span(3, 4))))
    assert "truncated" not in facts
    assert facts["citations"][1]["answer_span"] == {"start": 1, "end": 2}
    assert facts["citations"][1]["answer_spans"] == [{"start": 1, "end": 2}, {"start": 3, "end": 4}]
    assert facts["citations"][0]["source_span"] == {"start": 5, "end": 9}


def test_a_place_that_is_not_proven_is_null_with_its_reason():
    (row,) = facts_of(
        citation(1, spans=(), source_span=None, source_span_reason=NoSourceSpan.PASSAGE_DIFFERS, score=None)
    )["citations"]
    assert row["source_span"] is None
    assert row["source_span_reason"] == "passage_differs_from_source_text"
    assert row["answer_span"] is None
    assert "score" not in row


def test_long_quotes_are_cut_first_and_say_so():
    facts = facts_of(*(citation(number, "q" * 5000) for number in range(1, 20)))
    assert facts["truncated"] == ["quotes"]
    assert facts["answer_text"] == "text"
    assert all(len(row["quote"]) == QUOTE_CHARS and row["quote_truncated"] for row in facts["citations"])


def test_spans_of_a_cut_answer_stay_inside_of_it():
    text = "é" * 50_000
    inside, beyond = citation(1, spans=(Span(10, 20),)), citation(2, spans=(Span(10, 20), Span(40_000, 40_001)))
    facts = facts_of(inside, beyond, text=text)
    assert facts["truncated"] == ["quotes", "answer", "answer_text", "citations"]
    assert facts["answer_text"] == text[:ANSWER_CHARS]
    assert [row["number"] for row in facts["citations"]] == [1]


@pytest.mark.parametrize("count", [100, 1000])
def test_any_number_of_citations_fits(count: int):
    spans = tuple(Span(n, n + 1) for n in range(20))
    facts = facts_of(*(citation(number, "q" * 1000, spans) for number in range(1, count)), text="x" * 20_000)
    assert facts["citations"]


def test_the_published_reasons_are_those_that_occur():
    assert list(NO_SPAN_REASONS) == [str(reason) for reason in NoSourceSpan]
