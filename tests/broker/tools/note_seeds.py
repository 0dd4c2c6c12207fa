"""Notes for tests, put straight into the emulator's state."""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.model import Note, Timestamp
from tests.broker.session_helpers import Bench

SAVED_AT: Timestamp = (1_900_000_000, 0)
AUTHOR_ID = "100000000000000000001"


def add_notes(bench: Bench, notebook_id: str, texts: Sequence[str]) -> list[str]:
    """Add a note per text; return their ids, which do not rise."""
    notebook = bench.browser.state.notebook_for(notebook_id, bench.browser.account)
    ids = [f"{number * 7919 % 9973:08x}-0000-4e00-8b00-000000000000" for number in range(1, len(texts) + 1)]
    for note_id, text in zip(ids, texts, strict=True):
        notebook.notes.append(Note(note_id, f"Note {note_id[:8]}", text, SAVED_AT, AUTHOR_ID))
    return ids
