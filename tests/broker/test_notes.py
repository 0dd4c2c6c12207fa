from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.batchexecute import decode_reply_untrusted
from broker.errors import GatewayError, UpstreamSchemaDrift
from broker.notes import Note, Notes, decode_created_note, decode_filled_note, decode_notes
from tests.broker.wire_values import damaged, json_values, list_paths
from tests.shared import case_input, recordings

NOTE_1 = "40000000-0001-4000-8000-000000000001"
NOTE_2 = "40000000-0002-4000-8000-000000000002"
TIME = [1900000100, 0]
LISTS = [
    (entry["recording"], decode_reply_untrusted(entry["response"]["body"], "cFji9"))
    for entry in [*recordings("cFji9"), *recordings("cFji9", "later")]
]
MIXED: Any = decode_reply_untrusted(case_input("C-074-notes-mixed.txt").read_text(encoding="utf-8"), "cFji9")
MIND_MAP = json.dumps({"name": "Root", "children": []})


def live(note_id: str = NOTE_1, text: object = "text", meta: object = None, title: object = "T") -> list[Any]:
    return [note_id, [note_id, text, meta, None, title]]


def decoded(*rows: list[Any]) -> Notes:
    return decode_notes([list(rows), TIME])


def test_c074_deleted_notes_and_mind_maps_are_no_notes() -> None:
    notes = decode_notes(MIXED)
    assert [(note.title, note.kind) for note in notes.notes] == [("One", "note"), ("Four", "note")]
    assert notes.notes[0].text == "First text"
    assert notes.notes[0].updated_at == datetime(2030, 3, 17, 17, 46, 40, tzinfo=UTC)
    assert notes.deleted == {NOTE_2}
    assert notes.other == {"40000000-0003-4000-8000-000000000003"}


def test_c074_a_notebook_that_never_had_a_note_has_none() -> None:
    body = case_input("C-074-notes-never.txt").read_text(encoding="utf-8")
    assert decode_notes(decode_reply_untrusted(body, "cFji9")) == Notes()
    assert decoded() == Notes()


@pytest.mark.parametrize(("recording", "payload"), LISTS)
def test_recorded_lists_decode_in_full(recording: str, payload: Any) -> None:
    """The recordings hold stubs and mind maps only."""
    notes = decode_notes(payload)
    rows: list[Any] = payload[0] or []
    assert len(notes.notes) + len(notes.deleted) + len(notes.other) == len(rows)
    assert notes.deleted == {row[0] for row in rows if row[1] is None}
    assert notes.other == {row[0] for row in rows if row[1] is not None}
    assert not notes.notes


def test_recorded_answers_to_creating_and_filling_decode() -> None:
    created = {
        entry["recording"]: decode_reply_untrusted(entry["response"]["body"], "CYK0Xb")
        for entry in recordings("CYK0Xb")
    }
    ids = {name: decode_created_note(payload) for name, payload in created.items()}
    for entry in recordings("cYAfTb"):
        note = decode_filled_note(decode_reply_untrusted(entry["response"]["body"], "cYAfTb"))
        assert note.id == entry["request"]["params"][1] == ids[entry["recording"]]
        assert [note.text, note.title] == entry["request"]["params"][2][0][0][:2]
        assert note.updated_at is not None
        created_at = decode_filled_note(created[entry["recording"]]).updated_at
        assert created_at is not None
        assert note.updated_at > created_at  # it is no time of creation


def test_defaults_may_be_null_or_cut_off() -> None:
    empty = Note(NOTE_1, "", "", None, "note")
    assert decoded([NOTE_1, [NOTE_1]]).notes == (empty,)
    assert decoded([NOTE_1, [NOTE_1, None, None, None, None], None]).notes == (empty,)
    assert decoded(live(meta=[], text=None, title=None)).notes == (empty,)


@pytest.mark.parametrize(
    ("kind_code", "text", "marker", "kind"),
    [
        (1, MIND_MAP, None, "note"),
        (None, MIND_MAP, None, "note"),
        (2, "An answer", None, "saved_answer"),
        (2, '{"children": broken', None, "saved_answer"),
        (2, '["children"]', None, "saved_answer"),
        (2, '{"name": "only"}', None, "saved_answer"),
        (2, f"\n {MIND_MAP}", None, None),
        (2, MIND_MAP, 5, None),
        (2, "no tree", 5, None),
        (7, "of a new kind", None, "unknown"),
        (7, MIND_MAP, None, None),
    ],
)
def test_a_mind_map_is_told_by_its_number_or_by_what_it_holds(
    kind_code: int | None, text: str, marker: int | None, kind: str | None
) -> None:
    notes = decoded(live(text=text, meta=[kind_code, "100", TIME, marker]))
    assert [note.kind for note in notes.notes] == ([] if kind is None else [kind])
    assert notes.other == ({NOTE_1} if kind is None else set())


def test_a_deleted_note_is_deleted_even_when_its_text_came() -> None:
    assert decoded([*live(), 2]) == Notes(deleted=frozenset({NOTE_1}))
    assert decoded([*live(), 1]).notes[0].id == NOTE_1


UNKNOWN_SHAPES: list[tuple[Any, str]] = [
    ([], "$[1]"),
    ([None], "$[1]"),
    (["text", TIME], "$[0]"),
    ([[None], TIME], "$[0][0]"),
    ([["text"], TIME], "$[0][0]"),
    ([[["no id", None, 2]], TIME], "$[0][0][0]"),
    ([[[NOTE_1]], TIME], "$[0][0][1]"),
    ([[[NOTE_1, None]], TIME], "$[0][0][1]"),
    ([[[NOTE_1, None, 3]], TIME], "$[0][0][1]"),
    ([[[NOTE_1, None, "2"]], TIME], "$[0][0][2]"),
    ([[[NOTE_1, []]], TIME], "$[0][0][1][0]"),
    ([[[NOTE_1, live(NOTE_2)[1]]], TIME], "$[0][0][1][0]"),
    ([[live(text=7)], TIME], "$[0][0][1][1]"),
    ([[live(title=["T"])], TIME], "$[0][0][1][4]"),
    ([[live(meta="1")], TIME], "$[0][0][1][2]"),
    ([[live(meta=["1"])], TIME], "$[0][0][1][2][0]"),
    ([[live(meta=[1, "100", "now"])], TIME], "$[0][0][1][2][2]"),
]


@pytest.mark.parametrize(("payload", "path"), UNKNOWN_SHAPES)
def test_an_unknown_shape_is_drift_with_its_path_and_no_shorter_list(payload: Any, path: str) -> None:
    with pytest.raises(UpstreamSchemaDrift) as caught:
        decode_notes(payload)
    assert (caught.value.rpc_id, caught.value.path) == ("cFji9", path)


@pytest.mark.parametrize("payload", [[], [None], [[]], [["no id"]], [[NOTE_1, 7]], {}])
def test_an_answer_about_no_note_is_drift(payload: Any) -> None:
    for decode, rpc_id in ((decode_created_note, "CYK0Xb"), (decode_filled_note, "cYAfTb")):
        with pytest.raises(UpstreamSchemaDrift) as caught:
            decode(payload)
        assert caught.value.rpc_id == rpc_id


@given(st.sampled_from(list_paths(MIXED)), json_values, st.booleans())
def test_a_damaged_list_is_read_or_refused_and_nothing_else(path: tuple[int, ...], value: Any, cut: bool) -> None:
    with contextlib.suppress(GatewayError):
        notes = decode_notes(damaged(MIXED, path, value, cut=cut))
        if not cut and len(path) > 1:
            found = len(notes.notes) + len(notes.deleted) + len(notes.other)
            assert found == len(MIXED[0])
