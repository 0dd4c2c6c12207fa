"""The framing law of wire reference §2.2, over any text: lengths in UTF-16 units, counts of the closing row."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.emulator.framing import BodyWriter, bookkeeping_rows, chunk, result_row, status_row, whole_body
from harness.emulator.wire_json import compact, result_text, utf16_length
from tests.harness.client import body_rows

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=4), max_leaves=12
)


@given(result=json_values, bare=st.booleans(), duration=st.integers(0, 10**9), serial=st.integers(0, 2**70))
def test_any_result_is_framed_by_the_law_and_comes_back(result: Any, bare: bool, duration: int, serial: int) -> None:
    body = whole_body(result_row("rLM1Ne", result), duration_ms=duration, serial=serial, bare_lengths=bare)
    rows = body_rows(body, bare_lengths=bare)
    assert [row[0] for row in rows] == ["wrb.fr", "di", "af.httprm", "e"]
    assert json.loads(rows[0][2]) == result


@given(results=st.lists(json_values, max_size=6))
def test_the_closing_row_counts_what_was_written_piece_by_piece(results: list[Any]) -> None:
    writer = BodyWriter()
    pieces = [writer.start(), *(writer.chunk([["wrb.fr", None, result_text(result)]]) for result in results)]
    body = "".join([*pieces, writer.chunk(bookkeeping_rows(1, 2)), writer.close()])
    assert (writer.rows, writer.size_bytes) == (len(results) + 3, len(body.encode()))
    assert len(body_rows(body)) == len(results) + 3


def test_the_length_of_a_chunk_counts_utf16_units_and_both_line_breaks() -> None:
    assert chunk(["😀"]) == '8\n["😀"]\n'
    assert chunk(["😀"], bare_lengths=True) == '6\n["😀"]\n'


def test_small_answers_come_in_two_chunks_and_large_ones_in_three() -> None:
    """Recorded: up to 1,312 bytes two, from 2,378 bytes three."""
    for length, chunks in ((1_000, 2), (2_300, 3)):
        body = whole_body(result_row("tr032e", "x" * length), duration_ms=1, serial=1)
        assert len([line for line in body.splitlines() if line.startswith("[")]) == chunks


def test_a_result_escapes_what_recorded_results_escape_and_nothing_else() -> None:
    text = result_text(['<a href="x">&it\'s ü😀\u2028'])
    assert text == '["\\u003ca href\\u003d\\"x\\"\\u003e\\u0026it\'s ü😀\\u2028"]'
    assert json.loads(text) == ['<a href="x">&it\'s ü😀\u2028']


def test_a_lone_surrogate_travels_as_an_escape_because_it_has_no_utf8() -> None:
    body = whole_body(result_row("hizoJc", ["a\ud83d"]), duration_ms=1, serial=1)
    assert json.loads(body_rows(body)[0][2]) == ["a\ud83d"]


def test_a_refused_call_has_a_null_result_and_a_status() -> None:
    body = whole_body(status_row("rLM1Ne", [5]), duration_ms=1, serial=1)
    assert body_rows(body)[0] == ["wrb.fr", "rLM1Ne", None, None, None, [5], "generic"]


def test_bookkeeping_holds_a_signed_64_bit_number_as_text() -> None:
    numbers = [int(bookkeeping_rows(1, serial)[1][2]) for serial in range(50)]  # type: ignore[index]
    assert len(set(numbers)) == 50
    assert all(-(2**63) <= number < 2**63 for number in numbers)


@given(text=texts)
def test_utf16_length_is_what_an_encoder_says(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le")) // 2
    assert json.loads(compact(text)) == text
