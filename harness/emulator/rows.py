"""Notebook, source and citation rows as the service writes them (wire reference §4.1, §4.2, §8.3). Pure."""

from __future__ import annotations

import math
from urllib.parse import parse_qs, urlsplit

from harness.emulator.model import Notebook, Source, SourceState, SourceType, Timestamp
from harness.emulator.wire_json import Json

NOTEBOOK_LIMIT = 500
SOURCE_LIMIT = 300
SOURCE_SIZE_LIMIT = 500_000


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
        [6, NOTEBOOK_LIMIT, SOURCE_LIMIT, SOURCE_SIZE_LIMIT],
    ]


def source_row(source: Source, *, with_tokens: bool = False) -> list[Json]:
    """Return a source row. ``with_tokens`` adds the token count, which only some answers carry (`hizoJc`)."""
    return [[source.id], source.title, _source_metadata(source, with_tokens), [None, int(source.state)]]


def _source_metadata(source: Source, with_tokens: bool) -> list[Json]:
    video: Json = None
    page: Json = None
    if source.type is SourceType.YOUTUBE and source.url is not None:
        video = [source.url, parse_qs(urlsplit(source.url).query)["v"][0], "Lantern Rock Trust"]
    elif source.url is not None:
        page = [source.url]
    ready = source.state is SourceState.READY
    metadata: list[Json] = [
        None,
        source.words if ready else None,
        timestamp(source.added),
        [source.revision_id, timestamp(source.revised)],
        int(source.type),
        video,
        1,
        page,
        math.ceil(source.words * 1.4) if with_tokens and ready else None,
    ]
    return trim(metadata)


def trim(row: list[Json]) -> list[Json]:
    """Cut trailing empty slots, as the service does with every message."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]
