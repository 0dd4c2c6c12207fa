from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.utf16 import Span, SpanOutOfRange, Utf16Index, utf16_length
from tests.shared import case_input


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads(case_input(name).read_text(encoding="utf-8"))


def spans_of(case: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    text = case["text"] if "text" in case else json.loads(case["json_text"])
    return [(text, span) for span in case["spans"]]


@pytest.mark.parametrize("name", ["C-067-offsets-emoji", "C-068-offsets-combining", "C-071-offsets-lone"])
def test_c067_c068_c071_spans_convert_as_the_cases_say(name: str) -> None:
    for case in cases(f"{name}.json"):
        for text, expected in spans_of(case):
            assert utf16_length(text) == Utf16Index(text).length_utf16 == case["utf16_length"]
            span = Utf16Index(text).to_code_points(*expected["utf16"])
            assert [span.start, span.end] == expected["codepoints"]
            assert span.of(text) == expected["text"]


def test_c069_a_span_that_cuts_a_pair_is_widened_outward() -> None:
    for case in cases("C-069-offsets-mid-pair.json"):
        span = Utf16Index(case["text"]).to_code_points(*case["utf16"])
        assert [span.start, span.end] == case["widened_codepoints"]
        assert span.of(case["text"]) == case["widened_text"]


def test_c070_spans_outside_the_text_are_refused_and_never_clipped() -> None:
    for case in cases("C-070-offsets-invalid.json"):
        index = Utf16Index(case["text"])
        if case["valid"]:
            assert index.to_code_points(*case["utf16"]) == Span(*case["codepoints"])
        else:
            with pytest.raises(SpanOutOfRange):
                index.to_code_points(*case["utf16"])


def test_an_empty_span_inside_a_pair_stays_empty() -> None:
    assert Utf16Index("a😀b").to_code_points(2, 2) == Span(1, 1)


@given(st.text(st.sampled_from("aé😀𝒜\ufeff\u0301한")), st.data())
def test_any_whole_character_span_converts_there_and_back(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(0, end))
    utf16 = utf16_length(text[:start]), utf16_length(text[:end])
    assert Utf16Index(text).to_code_points(*utf16) == Span(start, end)


@given(st.text(st.sampled_from("a😀")), st.integers(-2, 50), st.integers(-2, 50))
def test_a_converted_span_covers_at_least_what_was_cited(text: str, start: int, end: int) -> None:
    index = Utf16Index(text)
    if not 0 <= start <= end <= index.length_utf16:
        with pytest.raises(SpanOutOfRange):
            index.to_code_points(start, end)
        return
    span = index.to_code_points(start, end)
    if start < end:
        assert utf16_length(text[: span.start]) <= start
        assert utf16_length(text[: span.end]) >= end
    assert 0 <= span.start <= span.end <= len(text)
