from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.answer_framing import IncompleteAnswer
from broker.batchexecute import ResultRow, Row, RowReader, decode_reply_untrusted
from broker.errors import AuthRequired, GatewayError, RateLimited, UpstreamRejected, UpstreamSchemaDrift
from broker.fake_companion import reply_body, rows_body, status_body
from broker.notebooks import decode_notebook, decode_notebook_list
from broker.utf16 import utf16_length
from tests.broker.wire_values import json_values
from tests.shared import case_input, recording_files


def case_body(name: str) -> str:
    return case_input(name).read_bytes().decode()


def rows_of(pieces: Iterable[str], rpc_id: str) -> list[Row]:
    reader = RowReader(rpc_id)
    rows: list[Row] = []
    for piece in pieces:
        rows += reader.feed_untrusted(piece)
    return rows + reader.end()


RECORDED = [
    (path.parent.name + "/" + path.stem, line)
    for path in recording_files()
    for line in path.read_text(encoding="utf-8").splitlines()
    if "wrb.fr" in line
]


def test_all_recorded_answers_are_here() -> None:
    assert len(RECORDED) >= 80


@pytest.mark.parametrize("line", [line for _, line in RECORDED], ids=[name for name, _ in RECORDED])
def test_every_recorded_answer_is_framed_as_we_read_it(line: str) -> None:
    """Lengths, row count and the closing row's bytes, on every recording of every call."""
    recording = json.loads(line)
    body: str = recording["response"]["body"]
    rpc_id: str = recording["rpc"]
    rows = [row for row in rows_of([body], rpc_id) if isinstance(row, ResultRow)]
    assert {row.rpc_id for row in rows} == {None if rpc_id == "GenerateFreeFormStreamed" else rpc_id}
    end = json.loads(body.rstrip("\n").rpartition("\n")[2])[0]
    assert end[4] == len(body.encode())
    payloads = body.split("\n")[3::2]
    assert [int(digits) for digits in body.split("\n")[2::2] if digits] == [utf16_length(p) + 2 for p in payloads]


@pytest.mark.parametrize("line", [line for name, line in RECORDED if "recorded/" in name and len(line) < 20_000])
def test_recorded_answers_read_one_character_at_a_time(line: str) -> None:
    recording = json.loads(line)
    body: str = recording["response"]["body"]
    assert rows_of(body, recording["rpc"]) == rows_of([body], recording["rpc"])


def test_c054_every_cut_of_the_bytes_gives_the_same_notebook() -> None:
    data = case_input("C-054-utf16-lengths.txt").read_bytes()
    for cut in range(len(data) + 1):
        decoder = codecs.getincrementaldecoder("utf-8")()
        pieces = [decoder.decode(data[:cut]), decoder.decode(data[cut:], final=True)]
        (row,) = rows_of(pieces, "wXbhsf")
        assert isinstance(row, ResultRow)
        assert row.payload_text is not None
        (notebook,) = decode_notebook_list(json.loads(row.payload_text))
        assert notebook.title == "Überblick 😀 — Teil 2"
        assert notebook.id == "1a2b3c4d-0001-4a00-8b00-00000000000a"


def test_c055_the_closing_row_is_no_error() -> None:
    assert decode_notebook(decode_reply_untrusted(case_body("C-055-good-with-e.txt"), "rLM1Ne")).title == "Plan"


def test_c058_another_id_only_is_drift_that_names_both() -> None:
    with pytest.raises(UpstreamSchemaDrift) as caught:
        decode_reply_untrusted(case_body("C-058-other-id.txt"), "wXbhsf")
    assert not caught.value.retryable
    assert "wXbhsf" in caught.value.message
    assert "zzZZ9z" in caught.value.message


def test_c058_no_result_row_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift, match="wXbhsf"):
        decode_reply_untrusted(case_body("C-058-no-data-frame.txt"), "wXbhsf")


@pytest.mark.parametrize("body", [")]}'\n\n", "", ")]"])
def test_c058_an_answer_without_its_closing_row_is_incomplete_and_retryable(body: str) -> None:
    with pytest.raises(IncompleteAnswer) as caught:
        decode_reply_untrusted(body, "wXbhsf")
    assert caught.value.retryable
    assert caught.value.code == "UPSTREAM_REJECTED"


def test_every_cut_of_a_good_answer_is_incomplete() -> None:
    body = case_body("C-054-utf16-lengths.txt")
    for cut in range(len(body) - 1):
        with pytest.raises(IncompleteAnswer):
            decode_reply_untrusted(body[:cut], "wXbhsf")


def test_c060_all_variants_give_the_same_notebook() -> None:
    bodies = json.loads(case_input("C-060-variants.json").read_text())
    notebooks = {decode_notebook(decode_reply_untrusted(body, "rLM1Ne")) for body in bodies}
    assert len(bodies) == 7
    assert len(notebooks) == 1


def test_a_closing_row_that_counts_more_rows_than_came_means_incomplete() -> None:
    body = reply_body("x", [1]).replace('["e",4,', '["e",5,')
    with pytest.raises(IncompleteAnswer, match="5"):
        decode_reply_untrusted(body, "x")


def test_rows_behind_the_closing_row_are_drift() -> None:
    body = reply_body("x", [1])
    with pytest.raises(UpstreamSchemaDrift):
        decode_reply_untrusted(body + '13\n[["di",41]]\n', "x")


def test_the_last_non_null_row_of_an_id_wins() -> None:
    rows = [
        ["wrb.fr", "x", "[1]", None, None, None, "generic"],
        ["wrb.fr", "x", "[2]", None, None, None, "generic"],
        ["wrb.fr", "y", "[3]", None, None, None, "generic"],
        ["wrb.fr", "x", None, None, None, [13], "generic"],
    ]
    assert decode_reply_untrusted(rows_body(rows), "x") == [2]


def test_an_error_row_is_an_error_of_its_number() -> None:
    for code, kind in ((401, AuthRequired), (429, RateLimited), (500, UpstreamRejected), ("odd", UpstreamRejected)):
        with pytest.raises(kind):
            decode_reply_untrusted(rows_body([["er", "x", code]]), "x")


def test_an_error_row_of_another_call_is_not_ours() -> None:
    rows = [["er", "y", 500], ["wrb.fr", "x", "[1]", None, None, None, "generic"]]
    assert decode_reply_untrusted(rows_body(rows), "x") == [1]


def test_a_null_result_without_status_is_drift_and_never_empty() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode_reply_untrusted(rows_body([["wrb.fr", "x", None, None, None, None, "generic"]]), "x")


def test_result_text_that_is_no_json_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode_reply_untrusted(rows_body([["wrb.fr", "x", "[1,", None, None, None, "generic"]]), "x")


def test_a_status_keeps_its_number() -> None:
    with pytest.raises(UpstreamRejected, match="status 9"):
        decode_reply_untrusted(status_body("x", 9), "x")


@given(json_values)
def test_any_value_survives_the_framing(payload: object) -> None:
    """Round trip against the shipped encoder; the framing is also checked by the recordings."""
    expected = json.loads(json.dumps(payload))
    if "\\ud" not in json.dumps(payload) and not any(len(p) > 18 for p in json.dumps(payload).split(",")):
        assert decode_reply_untrusted(reply_body("x", payload), "x") == expected


@given(st.lists(json_values, max_size=4))
def test_any_rows_give_a_result_or_one_of_our_errors(rows: list[object]) -> None:
    body = rows_body(json.loads(json.dumps(rows).replace("\\ud", "\\u0")))
    with contextlib.suppress(GatewayError):
        decode_reply_untrusted(body, "x")
