"""The rules for ready web pages with almost no text or the text of an error page."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from broker.content_sanity import PHRASES, warning_for
from broker.notebooks import Source

PAGE = Source("5e000000-0000-4000-8000-000000000001", "Page not found", "web_page", 5, "ready", 2)
FILLER = "All is well here. " * 200


def padded(text: str, length: int) -> str:
    return text + FILLER[: length - len(text)]


@pytest.mark.parametrize("length", [0, 1, 99])
def test_a_page_with_less_than_100_characters_is_thin(length: int) -> None:
    warning = warning_for(PAGE, padded("", length))
    assert warning is not None
    assert f"little/no text extracted ({length} chars)" in warning


def test_100_characters_are_enough_and_the_title_is_not_looked_at() -> None:
    assert warning_for(PAGE, padded("", 100)) is None


@pytest.mark.parametrize("phrase", PHRASES)
def test_each_phrase_warns_below_2000_characters_whatever_its_case(phrase: str) -> None:
    for text in (phrase, phrase.upper(), phrase.title()):
        warning = warning_for(PAGE, padded(text, 1999))
        assert warning is not None
        assert "(1999 chars)" in warning
        assert phrase in warning
        assert warning_for(PAGE, padded(text, 2000)) is None


def test_a_typographic_apostrophe_is_an_apostrophe() -> None:
    assert warning_for(PAGE, padded("This page isn’t available", 500)) is not None


@pytest.mark.parametrize("text", ["404", "not found", "The link is broken", "whoops", "page was not found"])
def test_words_that_only_resemble_a_phrase_do_not_warn(text: str) -> None:
    assert warning_for(PAGE, padded(text, 500)) is None


@pytest.mark.parametrize("kind", ["text", "pdf", "youtube", "google_docs", "unknown"])
def test_only_web_pages_are_looked_at(kind: str) -> None:
    assert warning_for(evolve(PAGE, kind=kind), "") is None


@pytest.mark.parametrize("state", ["processing", "preparing", "failed", "unknown"])
def test_only_ready_sources_are_looked_at(state: str) -> None:
    assert warning_for(evolve(PAGE, state=state), "") is None


@given(text=st.text(max_size=300))
def test_every_warning_ends_with_what_to_do(text: str) -> None:
    warning = warning_for(PAGE, text)
    assert warning is None or warning.endswith(f'verify with query_notebook and source_ids ["{PAGE.id}"].')
    assert (warning is not None) >= (len(text) < 100)
