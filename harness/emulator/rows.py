"""Notebook, source and citation rows as the service writes them (wire reference §4.1, §4.2, §8.3). Pure."""

from __future__ import annotations

import math
from typing import Final

from harness.emulator.model import DriveFile, Note, Notebook, Source, SourceState, SourceType, Timestamp
from harness.emulator.video_address import video_id
from harness.emulator.wire_json import Json

NOTEBOOK_LIMIT: Final = 500
SOURCE_SIZE_LIMIT: Final = 500_000
GOOGLE_DOCUMENT_TYPES: Final = {
    "application/vnd.google-apps.document": SourceType.GOOGLE_DOCS,
    "application/vnd.google-apps.presentation": SourceType.GOOGLE_SLIDES,
}
"""The Drive documents that have their id in slot 0; every other Drive file has it in slot 9 [reported]."""
_MIND_MAP_MARK: Final = 5
_DELETED_MARK: Final = 2


def timestamp(value: Timestamp) -> Json:
    return [value[0], value[1]]


def notebook_row(notebook: Notebook, email: str) -> list[Json]:
    """Return a notebook as one account sees it, with all its source rows."""
    role = notebook.role_of(email)
    shared = bool(notebook.shared_with)
    meta: list[Json] = [
        None if role is None else int(role),
        shared,
        True,
        None,
        None,
        timestamp(notebook.last_viewed),
        1,
        False,
        timestamp(notebook.created),
        None,
        None,
        None,
        shared,
        True,
        1,
        False,
    ]
    sources: list[Json] = [source_row(source) for source in notebook.sources]
    return [
        notebook.title,
        sources or None,
        notebook.id,
        notebook.emoji,
        None,
        meta,
        None,
        None,
        [False] if shared else None,
        [True, True, True],
        [6, NOTEBOOK_LIMIT, notebook.source_limit, SOURCE_SIZE_LIMIT],
    ]


def source_row(source: Source, *, with_tokens: bool = False) -> list[Json]:
    """Return a source row. ``with_tokens`` adds the token count, which only some answers carry (`izAoDd`, `hizoJc`)."""
    settings: list[Json] = [None, int(source.state)]
    if source.failure is not None:
        settings.append([*[None] * 6, [source.failure]])
    return [[source.id], source.title, _source_metadata(source, with_tokens), settings]


def _source_metadata(source: Source, with_tokens: bool) -> list[Json]:
    video: Json = None
    page: Json = None
    if source.type is SourceType.YOUTUBE and source.url is not None:
        video = [source.url, video_id(source.url), "Lantern Rock Trust"]
    elif source.url is not None:
        page = [source.url]
    document, drive_file = (None, None) if source.drive is None else _drive_blocks(source.drive)
    ready = source.state == SourceState.READY
    metadata: list[Json] = [
        document,
        source.words if ready else None,
        timestamp(source.added),
        [source.revision_id, timestamp(source.revised)],
        int(source.type),
        video,
        1,
        page,
        math.ceil(source.words * 1.4) if with_tokens and ready else None,
        drive_file,
    ]
    return trim(metadata)


def _drive_blocks(file: DriveFile) -> tuple[Json, Json]:
    """Return slots 0 and 9: the block of a Google document, or that of any other file."""
    if file.mime_type in GOOGLE_DOCUMENT_TYPES:
        return [file.id, f"revision-of-{file.id}", 17], None
    return None, [file.id, 1, file.mime_type, ""]


def registered_row(source_id: str, name: str) -> list[Json]:
    """Return the stub that stands for a file whose bytes are still to come."""
    return [[source_id], name, [*[None] * 4, 0]]


def note_body(note: Note) -> list[Json]:
    """Return the inner list of a note: id, text, meta, rich text, title."""
    meta: list[Json] = [int(note.kind), note.author_id, timestamp(note.changed)]
    if note.mapped_sources:
        sources: list[Json] = [[source_id] for source_id in note.mapped_sources]
        meta += [_MIND_MAP_MARK, sources]
    return [note.id, note.text, meta, None, note.title]


def note_row(note: Note) -> list[Json]:
    """Return a row of the list of notes; a deleted note has lost everything but its id."""
    return [note.id, None, _DELETED_MARK] if note.deleted else [note.id, note_body(note)]


def trim(row: list[Json]) -> list[Json]:
    """Cut trailing empty slots, as the service does with every message."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]
