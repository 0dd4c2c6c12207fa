from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.answer_framing import ChunkReader, IncompleteAnswer, SignInPage
from broker.errors import UpstreamSchemaDrift
from broker.utf16 import utf16_length

PAYLOADS = st.lists(st.text(st.sampled_from('a"é😀\u2028 ]'), min_size=1, max_size=20).filter(str.strip), max_size=5)


def framed(payloads: list[str], extra_utf16: int = 2) -> str:
    return ")]}'\n\n" + "".join(f"{utf16_length(text) + extra_utf16}\n{text}\n" for text in payloads)


def read_in_pieces(text: str, cuts: set[int]) -> list[str]:
    reader = ChunkReader("x")
    payloads: list[str] = []
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    for start, end in itertools.pairwise(edges):
        payloads += reader.feed_untrusted(text[start:end])
    return payloads + reader.end()


@given(PAYLOADS, st.sets(st.integers(1, 150)))
def test_any_split_gives_the_same_payloads(payloads: list[str], cuts: set[int]) -> None:
    assert read_in_pieces(framed(payloads), cuts) == payloads


@given(PAYLOADS)
def test_one_character_at_a_time_gives_the_same_payloads(payloads: list[str]) -> None:
    text = framed(payloads)
    assert read_in_pieces(text, set(range(len(text)))) == payloads


@pytest.mark.parametrize("tail", ["", "\n", "\n\n \n", "\r\n"])
def test_c060_blank_lines_behind_the_last_chunk_are_nothing(tail: str) -> None:
    assert read_in_pieces(framed(["[1]", "[2]"]) + tail, set()) == ["[1]", "[2]"]


def test_c060_the_bare_length_is_accepted() -> None:
    assert read_in_pieces(framed(["[1]", '["😀"]'], extra_utf16=0), set()) == ["[1]", '["😀"]']


@pytest.mark.parametrize("prefix", ["", ")]}'\n", ")]}'\n\n", ")]}'\r\n\r\n", "\n)]}'\n"])
def test_c060_prefix_variants_are_accepted(prefix: str) -> None:
    assert read_in_pieces(prefix + "5\n[1]\n", {1, 2, 3}) == ["[1]"]


def test_line_ends_of_two_characters_everywhere_are_accepted() -> None:
    assert read_in_pieces(framed(["[1]", "[2]"]).replace("\n", "\r\n"), set()) == ["[1]", "[2]"]


def test_a_line_break_inside_a_payload_belongs_to_it() -> None:
    assert read_in_pieces(framed(["[1,\n 2]", "[3]"]), set(range(30))) == ["[1,\n 2]", "[3]"]


def test_a_payload_whose_last_line_break_was_trimmed_is_whole() -> None:
    assert read_in_pieces(framed(["[1]"]).rstrip(), set()) == ["[1]"]


@pytest.mark.parametrize("wrong", [-3, 1, 4])
def test_a_length_in_another_unit_is_refused(wrong: int) -> None:
    """Too short is another format; too long means that text is missing."""
    text = framed(['["é😀"]'], extra_utf16=2 + wrong)
    with pytest.raises(UpstreamSchemaDrift if wrong < 0 else IncompleteAnswer):
        read_in_pieces(text, set())


def test_text_cut_inside_a_chunk_is_incomplete_and_worth_a_repeat() -> None:
    with pytest.raises(IncompleteAnswer) as caught:
        read_in_pieces(framed(["[1]", "[234]"])[:-4], set())
    assert caught.value.retryable
    assert "chunk 2" in caught.value.message


@pytest.mark.parametrize("page", ["<!doctype html><title>Sign in</title>", " \n<html>\n<body>"])
def test_a_web_page_means_signed_out(page: str) -> None:
    with pytest.raises(SignInPage):
        read_in_pieces(page, set(range(1, 40)))


@pytest.mark.parametrize(
    "text", ["hello\n", ")]}'\n\n-5\n[1]\n", ")]}'\n\n9999999999\n", "٣\n[]\n", "5.0\n[1]\n", "{}\n"]
)
def test_other_text_is_drift(text: str) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        read_in_pieces(text, set())


@given(st.text(st.sampled_from("0123459\n\r[]\"a😀)}'<"), max_size=60), st.sets(st.integers(1, 60)))
def test_any_text_gives_payloads_or_one_of_our_errors(text: str, cuts: set[int]) -> None:
    with contextlib.suppress(UpstreamSchemaDrift, IncompleteAnswer, SignInPage):
        read_in_pieces(text, cuts)
