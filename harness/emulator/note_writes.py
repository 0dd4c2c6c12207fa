"""The calls that change notes: create, fill, delete (wire reference §9)."""

from __future__ import annotations

import uuid
from typing import Final

from harness.emulator.model import Note, Notebook
from harness.emulator.params import NOT_FOUND, Denied, any_text, expect, only, rows, text
from harness.emulator.rows import note_body
from harness.emulator.state import now
from harness.emulator.wire_json import Json
from harness.emulator.writes import Write, Writer

NEW_NOTE_TITLE: Final = "New Note"


def create_note(write: Write) -> Json:
    """``CYK0Xb [ID,"",[1],null,title]`` -> ``[note]``. Text and title are ignored, so a fill has to follow."""
    expect(len(write.params) == 5 and write.params[2:4] == [[1], None])
    any_text(write.params[1])
    any_text(write.params[4])
    notebook = _notebook(write)
    note = Note(str(uuid.uuid4()), NEW_NOTE_TITLE, "", now(), write.account.user_id)
    notebook.notes.append(note)
    return [note_body(note)]


def fill_note(write: Write) -> Json:
    """``cYAfTb [ID,note ID,[[[text,title,[],0]]]]`` -> ``[note]``. Both fields are replaced, and so is its time."""
    expect(len(write.params) == 3)
    notebook = _notebook(write)
    fields = only(only(write.params[2]))
    if not isinstance(fields, list):
        fields = []
    expect(len(fields) == 4 and fields[2:] == [[], 0])
    body, title = any_text(fields[0]), any_text(fields[1])
    note = next((note for note in notebook.notes if note.id == write.params[1] and not note.deleted), None)
    if note is None:
        raise Denied(NOT_FOUND)
    note.text, note.title, note.changed = body, title, now()
    return [note_body(note)]


def delete_notes(write: Write) -> Json:
    """``AH0mwd [ID,null,[note ID, …]]`` -> ``[]``. Unknown ids are ignored; a deleted note leaves a row for good."""
    expect(len(write.params) == 3 and write.params[1] is None)
    notebook = _notebook(write)
    doomed = {text(note_id) for note_id in rows(write.params[2])}
    for note in notebook.notes:
        if note.id in doomed:
            note.deleted, note.title, note.text = True, "", ""
    return []


def _notebook(write: Write) -> Notebook:
    return write.state.notebook_to_change(text(write.params[0]), write.account.email)


NOTE_WRITES: Final[dict[str, Writer]] = {"CYK0Xb": create_note, "cYAfTb": fill_note, "AH0mwd": delete_notes}
