from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from attrs import evolve

from broker.citations import CitedAnswer, WireCitation, decode_final_answer
from broker.slots import Slot
from broker.source_spans import CITATION_SCHEMA, NoSourceSpan, grounded_answer, prove_source_span
from broker.source_text import SourceText, decode_source_text
from broker.utf16 import Span
from tests.broker.answers import REVISION, SOURCE_1, SOURCE_2, answer, citation, elements

TEXT = ["Café 😀 opens. ", "שלום עולם. ", "e\u0301te\u0301 🏳️‍🌈 ends here."]
QUOTE = "שלום עולם. "
QUOTE_START_UTF16 = 15


def source_text(paragraphs: list[str] = TEXT, revision: str = REVISION) -> SourceText:
    row: list[Any] = [[SOURCE_1], "Source", [None, 3, None, [revision]], [None, 2]]
    return decode_source_text([row, None, None, [[elements(*paragraphs)]]])


def answer_with(*citations: list[Any]) -> CitedAnswer:
    spans = [(0, 4, list(range(len(citations))))]
    event = answer("Text [1]", ["Text"], list(citations), spans, final=True)
    return decode_final_answer(Slot(event, "GenerateFreeFormStreamed"))


def wire_citation(quote: str = QUOTE, start: int = QUOTE_START_UTF16) -> WireCitation:
    return answer_with(citation("c1", quote, start)).citations[0]


def test_a_passage_that_stands_where_it_says_gets_its_code_point_span() -> None:
    source = source_text()
    span = prove_source_span(wire_citation(), source)
    assert isinstance(span, Span)
    assert span.of(source.text) == QUOTE
    assert span == Span(14, 25)


@pytest.mark.parametrize("start", [QUOTE_START_UTF16 - 1, QUOTE_START_UTF16 + 1, 0, 10_000])
def test_a_passage_that_stands_elsewhere_gets_a_reason(start: int) -> None:
    assert prove_source_span(wire_citation(start=start), source_text()) == NoSourceSpan.PASSAGE_DIFFERS


def test_one_differing_letter_is_enough_to_refuse() -> None:
    assert prove_source_span(wire_citation("שלום עולם! "), source_text()) == NoSourceSpan.PASSAGE_DIFFERS


def test_other_text_under_another_revision_says_that_the_source_changed() -> None:
    changed = source_text(["Quite another text of enough length to hold the place."], revision="other")
    assert prove_source_span(wire_citation(), changed) == NoSourceSpan.SOURCE_CHANGED


def test_the_same_text_under_another_revision_is_still_a_proof() -> None:
    assert prove_source_span(wire_citation(), source_text(revision="other")) == Span(14, 25)


@pytest.mark.parametrize("place", [None, (0, 11), (15, 25)])
def test_a_citation_whose_two_places_differ_contradicts_itself(place: tuple[int, int] | None) -> None:
    contradicting = evolve(wire_citation(), place_utf16=place)
    assert prove_source_span(contradicting, source_text()) == NoSourceSpan.CONTRADICTION


def test_a_passage_shorter_than_its_place_contradicts_itself() -> None:
    row = citation("c1", "passage text one", 100)
    row[3] = [[None, 100, 140]]
    row[4] = [[[100, 140, [[[100, 140, ["passage text one"]]], [None, 1]]]]]
    cited = answer_with(row)
    assert cited.citations[0].passage.text == "passage text one"
    assert prove_source_span(cited.citations[0], source_text()) == NoSourceSpan.CONTRADICTION


def test_the_published_form_satisfies_its_schema_and_has_exactly_one_of_span_and_reason() -> None:
    cited = answer_with(
        citation("c1", QUOTE, QUOTE_START_UTF16),
        citation("c2", "unread", 0, SOURCE_2),
        citation("c3", "unlisted", 0, "5e000000-0003-4000-8000-000000000003"),
    )
    grounded = grounded_answer(cited, {SOURCE_1: "Source", SOURCE_2: None}, {SOURCE_1: source_text()})
    published = grounded.as_json()
    assert published["answer"] == "Text [1]"
    assert published["answer_text"] == "Text"
    entries: Any = published["citations"]
    for entry in entries:
        jsonschema.validate(entry, CITATION_SCHEMA)
        assert (entry["source_span"] is None) is (entry["source_span_reason"] is not None)
        assert entry["answer_span"] == entry["answer_spans"][0] == {"start": 0, "end": 4}
    assert entries[0]["source_span"] == {"start": 14, "end": 25}
    assert [entry["source_span_reason"] for entry in entries] == [
        None,
        "source_text_unavailable",
        "source_not_in_notebook",
    ]
    assert [entry["source_title"] for entry in entries] == ["Source", None, None]
