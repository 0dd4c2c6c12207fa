from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.batchexecute import decode_reply_untrusted
from broker.errors import GatewayError, UpstreamSchemaDrift
from broker.notebooks import Notebook, decode_notebook, decode_notebook_list
from tests.broker.wire_values import damaged, json_values, list_paths
from tests.shared import case_input, recordings

NOTEBOOK_ID = "1a2b3c4d-0001-4a00-8b00-00000000000a"
SOURCE_ID = "5e000000-0001-4000-8000-000000000001"
LIST_PAYLOADS = [decode_reply_untrusted(entry["response"]["body"], "wXbhsf") for entry in recordings("wXbhsf")]
GET_PAYLOADS = [
    decode_reply_untrusted(entry["response"]["body"], "rLM1Ne")
    for entry in [*recordings("rLM1Ne"), *recordings("rLM1Ne", "later")]
]
SMALL_GET = min(GET_PAYLOADS[:-1], key=lambda payload: len(str(payload)))
SMALL_GET_PATHS = list_paths(SMALL_GET)


def case_notebook(name: str) -> Notebook:
    return decode_notebook(decode_reply_untrusted(case_input(name).read_text(encoding="utf-8"), "rLM1Ne"))


def source_row(meta: object = None, settings: object = None, holder: object = None, title: object = "T") -> list[Any]:
    return [[SOURCE_ID] if holder is None else holder, title, meta, settings]


def decoded(*rows: list[Any]) -> Notebook:
    return decode_notebook([["Plan", list(rows), NOTEBOOK_ID]])


@pytest.mark.parametrize("payload", LIST_PAYLOADS)
def test_recorded_lists_decode_in_full(payload: Any) -> None:
    notebooks = decode_notebook_list(payload)
    assert len(notebooks) == len(payload[0]) == 12
    assert [len(notebook.sources) for notebook in notebooks] == [len(row[1]) for row in payload[0]]
    assert {notebook.role for notebook in notebooks} == {"owner", "viewer"}
    for notebook in notebooks:
        assert notebook.created_at is not None
        assert notebook.last_viewed_at is not None
        for source in notebook.sources:
            assert source.state == "ready"
            assert source.kind != "unknown"
            assert source.revision is not None


@pytest.mark.parametrize("payload", GET_PAYLOADS)
def test_recorded_notebooks_decode_in_full(payload: Any) -> None:
    notebook = decode_notebook(payload)
    assert notebook.id == payload[0][2]
    assert len(notebook.sources) == len(payload[0][1] or [])
    assert notebook.role == "owner"


def test_values_of_a_recorded_source() -> None:
    notebook = decode_notebook(GET_PAYLOADS[0])
    assert notebook.emoji == "🤖"
    assert notebook.shared is False
    assert notebook.created_at == datetime(2026, 1, 11, 23, 33, 33, 819385, tzinfo=UTC)
    source = notebook.sources[0]
    assert (source.kind, source.kind_code, source.state, source.state_code) == ("web_page", 5, "ready", 2)
    assert source.word_count == 3765
    assert source.url is not None
    assert source.url.startswith("https://www.reddit.com/")
    assert source.revision == "31c5c02a-0c6b-427b-b46e-f96059acdfed"


@pytest.mark.parametrize("title", ["", None])
def test_c018_untitled_notebooks_are_listed(title: str | None) -> None:
    (notebook,) = decode_notebook_list([[[title, None, NOTEBOOK_ID]]])
    assert notebook.title == title


def test_c059_a_null_source_slot_is_an_empty_notebook() -> None:
    notebook = case_notebook("C-059-empty-null-slot.txt")
    assert notebook.sources == ()
    assert notebook.title == "Plan"


@pytest.mark.parametrize("name", ["C-059-too-short.txt", "C-059-wrong-type.txt"])
def test_c059_a_broken_answer_is_drift_and_never_empty(name: str) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        case_notebook(name)


@pytest.mark.parametrize("payload", [[], [None], [[]]])
def test_an_account_without_notebooks_has_an_empty_list(payload: object) -> None:
    assert decode_notebook_list(payload) == []


@pytest.mark.parametrize("payload", [None, {}, "[]", ["rows"], [[None]], [[["T", [], "no id"]]], [[["T", [], None]]]])
def test_other_lists_are_drift(payload: object) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode_notebook_list(payload)


def test_a_source_listed_twice_keeps_its_first_row() -> None:
    (source,) = decoded(source_row(title="first"), source_row(title="second")).sources
    assert source.title == "first"


def test_drive_rows_nest_their_id() -> None:
    (source,) = decoded(source_row(holder=[None, True, [SOURCE_ID]])).sources
    assert source.id == SOURCE_ID


@pytest.mark.parametrize(("code", "state"), [(1, "processing"), (2, "ready"), (3, "failed"), (5, "preparing")])
def test_states_by_number(code: int, state: str) -> None:
    (source,) = decoded(source_row(settings=[None, code])).sources
    assert (source.state, source.state_code) == (state, code)


def test_c078_unknown_numbers_are_shown_as_unknown() -> None:
    (source,) = decoded(source_row(meta=[None, None, None, None, 77], settings=[None, 42])).sources
    assert (source.state, source.state_code) == ("unknown", 42)
    assert (source.kind, source.kind_code) == ("unknown", 77)


def test_c081_a_drive_document_is_known_by_the_id_it_was_added_with() -> None:
    for meta in ([["file-1", "token", 17]], [None] * 9 + [["file-1", 1, "application/pdf", ""]]):
        (source,) = decoded(source_row(meta)).sources
        assert source.drive_file_id == "file-1"
    assert decoded(source_row([None, 9])).sources[0].drive_file_id is None


@pytest.mark.parametrize("block", ["text", {}, 7, [], [7], [""], [None]])
def test_a_drive_block_of_another_shape_costs_only_the_id(block: object) -> None:
    """That block was only reported publicly, and a notebook must not be lost over it."""
    (source,) = decoded(source_row([*[None] * 9, block])).sources
    assert source.drive_file_id is None


@pytest.mark.parametrize(
    ("settings", "failure"),
    [
        ([None, 3], None),
        ([None, 3, [None] * 6 + [[13]]], "fetch failure 13"),
        ([None, 3, None, 1], "the service has no access to the Drive file"),
        ([None, 3, [None] * 6 + [[13]], 4], "the Drive file is deleted"),
        ([None, 3, None, 2], None),
        ([None, 2, [None] * 6 + [[13]], 1], None),
        ([None, 3, "text", "text"], None),
        ([None, 3, [None] * 6 + ["text"], []], None),
        ([None, 3, [None] * 6 + [[True]], True], None),
    ],
)
def test_c079_a_failed_source_says_why_as_far_as_the_service_tells(settings: list[object], failure: str | None) -> None:
    (source,) = decoded(source_row([None, 3], settings)).sources
    assert source.failure == failure


def test_a_registered_stub_has_no_metadata_yet() -> None:
    (source,) = decoded([[SOURCE_ID], "file.pdf"]).sources
    assert (source.state, source.kind, source.revision, source.url) == ("unknown", "unknown", None, None)


def test_a_video_has_the_url_of_its_own_block() -> None:
    meta = [None, 1, None, None, 9, ["https://www.youtube.com/watch?v=x", "x", "channel"]]
    assert decoded(source_row(meta=meta)).sources[0].url == "https://www.youtube.com/watch?v=x"


@pytest.mark.parametrize("nanos", [[], [0], [5]])
def test_times_may_drop_their_nanos(nanos: list[int]) -> None:
    meta = [None, None, [1768268904, *nanos]]
    assert decoded(source_row(meta=meta)).sources[0].created_at == datetime(2026, 1, 13, 1, 48, 24, tzinfo=UTC)


def test_a_time_out_of_range_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift, match="point in time"):
        decoded(source_row(meta=[None, None, [10**17]]))


@given(json_values)
def test_any_payload_decodes_or_drifts(payload: object) -> None:
    for decode in (decode_notebook, decode_notebook_list):
        with contextlib.suppress(UpstreamSchemaDrift):
            decode(payload)


@given(st.sampled_from(SMALL_GET_PATHS), json_values, st.booleans())
def test_a_recorded_notebook_with_a_damaged_slot_decodes_or_drifts(
    path: tuple[int, ...], replacement: object, cut: bool
) -> None:
    with contextlib.suppress(GatewayError):
        decode_notebook(damaged(SMALL_GET, path, replacement, cut=cut))
