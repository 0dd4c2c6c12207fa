"""The notes of a notebook, and the answers about one of them: ``cFji9``, ``CYK0Xb``, ``cYAfTb`` (wire reference, 9).

Pure. One list holds notes, answers saved from chat, mind maps, and a stub for each note that was ever deleted (C-074).
A row of another shape is drift with its path and never a shorter list.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from attrs import field, frozen

from broker.notebooks import maybe_time, read_id
from broker.requests import CREATE_NOTE, FILL_NOTE, LIST_NOTES
from broker.slots import Slot
from broker.wire_json import BadJson, decode_json_untrusted

NoteKind = Literal["note", "saved_answer", "unknown"]

DELETED: Final = 2
KINDS: Final[dict[int, NoteKind]] = {0: "note", 1: "note", 2: "saved_answer"}
"""0 is the default, which the service may leave out. A number outside this table is shown as unknown (as C-078)."""
MIND_MAP: Final = 5


@frozen
class Note:
    """One live note. `updated_at` is when it was last saved: recorded updates move it, so it tells no creation."""

    id: str
    title: str
    text: str = field(repr=False)
    updated_at: datetime | None
    kind: NoteKind


@frozen
class Notes:
    """What the list holds: live notes in the service's order, ids of deleted ones, ids of mind maps."""

    notes: tuple[Note, ...] = ()
    deleted: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()


def decode_notes(payload: object) -> Notes:
    """Decode the answer of ``cFji9``: ``[[row, …] or null, [seconds, nanos]]``.

    The service's time must be there: a notebook that never had a note is answered with null and the time, so that a
    broken answer is not mistaken for it (C-059, C-074).

    Raises:
        UpstreamSchemaDrift: a row or the envelope has another shape.
    """
    envelope = Slot(payload, LIST_NOTES)
    rows = envelope.maybe_list(0)
    if rows is None:
        envelope.list_at(1)
        return Notes()
    notes: dict[str, Note] = {}
    deleted: set[str] = set()
    other: set[str] = set()
    for row in rows.lists():
        note_id = read_id(row, 0)
        if row.maybe_int(2) == DELETED:
            deleted.add(note_id)
            continue
        inner = row.list_at(1)
        note = _decode_note(inner)
        if note.id != note_id:
            raise inner.drift(0, "the id of its row", "another id")
        if _is_mind_map(inner, note):
            other.add(note_id)
        else:
            notes.setdefault(note_id, note)
    return Notes(tuple(notes.values()), frozenset(deleted), frozenset(other))


def decode_created_note(payload: object) -> str:
    """Decode the answer of ``CYK0Xb``, ``[note]``, and return the new note's id.

    Raises:
        UpstreamSchemaDrift: the answer has another shape.
    """
    return _decode_note(Slot(payload, CREATE_NOTE).list_at(0)).id


def decode_filled_note(payload: object) -> Note:
    """Decode the answer of ``cYAfTb``: ``[note]``.

    Raises:
        UpstreamSchemaDrift: the answer has another shape.
    """
    return _decode_note(Slot(payload, FILL_NOTE).list_at(0))


def _decode_note(row: Slot) -> Note:
    # ``[id, text, [kind, account id, [seconds, nanos], 5?, …], rich text or null, title]``
    meta = row.maybe_list(2)
    return Note(
        id=read_id(row, 0),
        title=row.maybe_text(4) or "",
        text=row.maybe_text(1) or "",
        updated_at=None if meta is None else maybe_time(meta, 2),
        kind=KINDS.get(0 if meta is None else meta.int_or_zero(0), "unknown"),
    )


def _is_mind_map(row: Slot, note: Note) -> bool:
    # What a person writes is a note whatever it says (C-074). Of what was generated, the number tells, and where it is
    # missing the text does.
    if note.kind == "note":
        return False
    meta = row.list_at(2)
    if meta.raw(3) == MIND_MAP:
        return True
    if not note.text.lstrip().startswith("{"):
        return False
    try:
        tree = decode_json_untrusted(note.text)
    except BadJson:
        return False
    return isinstance(tree, dict) and "children" in tree
