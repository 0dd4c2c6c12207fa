from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.notes import Note
from broker.published_notes import MAX_SHOWN_CONTENT_CHARS, NOTE_SCHEMA, note_row
from broker.schema_check import compile_schema

WHEN = datetime(2026, 1, 21, 3, 54, 12, 500, tzinfo=UTC)


def note(text: str, title: str = "One") -> Note:
    return Note("40000000-0001-4000-8000-000000000001", title, text, WHEN, "note")


def shown_chars(text: str) -> int:
    return len(orjson.dumps(text).decode()) - 2


def test_a_short_note_is_shown_whole():
    assert note_row(note("Text 🚤")) == {
        "id": "40000000-0001-4000-8000-000000000001",
        "title": "One",
        "content": "Text 🚤",
        "content_length": 6,
        "truncated": False,
        "kind": "note",
        "updated_at": "2026-01-21T03:54:12Z",
    }


@pytest.mark.parametrize("text", ["x", '"', "\n", "\x01", "🚤", 'a"\n🚤\x1f'])
@pytest.mark.parametrize("times", [0, 1, 4_999, 5_000, 5_001, 29_999, 30_000, 30_001, 200_000])
def test_as_much_as_fits_is_shown_and_the_rest_is_counted(text: str, times: int):
    whole = text * times
    row = note_row(note(whole))
    content = str(row["content"])
    assert whole.startswith(content)
    assert row["content_length"] == len(whole)
    assert row["truncated"] is (content != whole)
    assert shown_chars(content) <= MAX_SHOWN_CONTENT_CHARS
    if row["truncated"]:
        assert shown_chars(whole[: len(content) + 1]) > MAX_SHOWN_CONTENT_CHARS


@given(st.text())
def test_every_row_conforms_to_the_schema(text: str):
    assert compile_schema(NOTE_SCHEMA)(note_row(note(text, title=text))) is None
