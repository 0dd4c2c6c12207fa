"""Notebooks and sources as the service lists them: ``wXbhsf`` and ``rLM1Ne`` (wire reference, 4.1, 4.2 and 5).

Pure. An absent source list is an empty notebook; a row without its id, or with another type in a slot we read, is drift
and never an empty list (C-059).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeGuard

from attrs import frozen

from broker.slots import Slot, as_list

LIST_RPC: Final = "wXbhsf"
GET_RPC: Final = "rLM1Ne"

Role = Literal["owner", "editor", "viewer", "unknown"]
State = Literal["ready", "processing", "failed", "preparing", "unknown"]

ROLES: Final[dict[int, Role]] = {1: "owner", 2: "editor", 3: "viewer"}
STATES: Final[dict[int, State]] = {1: "processing", 2: "ready", 3: "failed", 5: "preparing"}
KINDS: Final[dict[int, str]] = {
    1: "google_docs",
    2: "google_slides",
    3: "pdf",
    4: "text",
    5: "web_page",
    6: "powerpoint",
    7: "google_sheets",
    8: "markdown",
    9: "youtube",
    10: "audio_video",
    11: "word",
    13: "image",
    14: "drive_file",
    16: "csv",
    17: "epub",
    18: "gemini_chat",
    20: "play_books",
}
DRIVE_FAILURES: Final[dict[int, str]] = {
    1: "the service has no access to the Drive file",
    4: "the Drive file is deleted",
    5: "the Drive file is closed to AI tools",
}
"""Drive statuses that explain a failed source; 2 (syncing) and 3 (active) explain nothing. Only reported publicly."""
UNKNOWN: Final = "unknown"
"""A number outside these tables is shown as this word, beside the number itself; it is no drift (C-078)."""

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Source:
    """One source of a notebook. `state_code` and `kind_code` are the service's own numbers.

    `revision` names the content: it changes when the source is read anew, and citations carry it. `failure` is why a
    failed source failed, as far as the service tells.
    """

    id: str
    title: str | None
    kind: str
    kind_code: int | None
    state: State
    state_code: int | None
    word_count: int | None = None
    created_at: datetime | None = None
    url: str | None = None
    revision: str | None = None
    drive_file_id: str | None = None
    failure: str | None = None


@frozen
class Notebook:
    """One notebook with all its sources. Times are in UTC; a missing title is None, an empty one ``""`` (C-018)."""

    id: str
    title: str | None
    emoji: str | None
    role: Role
    shared: bool | None
    created_at: datetime | None
    last_viewed_at: datetime | None
    sources: tuple[Source, ...]


def decode_notebook_list(payload: object) -> list[Notebook]:
    """Decode the answer of ``wXbhsf``: ``[[notebook row, …]]``, newest first.

    Raises:
        UpstreamSchemaDrift: a row or the envelope has another shape.
    """
    rows = Slot(payload, LIST_RPC).maybe_list(0)
    return [] if rows is None else [decode_notebook_row(row) for row in rows.lists()]


def decode_notebook(payload: object) -> Notebook:
    """Decode the answer of ``rLM1Ne``: ``[notebook row]``.

    Raises:
        UpstreamSchemaDrift: the row or the envelope has another shape.
    """
    return decode_notebook_row(Slot(payload, GET_RPC).list_at(0))


def decode_notebook_row(row: Slot) -> Notebook:
    """Decode one notebook row."""
    meta = row.maybe_list(5)
    role_code = None if meta is None else meta.maybe_int(0)
    source_rows = row.maybe_list(1)
    return Notebook(
        id=read_id(row, 2),
        title=row.maybe_text(0),
        emoji=row.maybe_text(3) or None,
        role=ROLES.get(role_code or 0, UNKNOWN),
        shared=None if meta is None else meta.maybe_flag(1),
        created_at=None if meta is None else maybe_time(meta, 8),
        last_viewed_at=None if meta is None else maybe_time(meta, 5),
        sources=() if source_rows is None else _first_of_each_id(map(decode_source_row, source_rows.lists())),
    )


def decode_source_row(row: Slot) -> Source:
    """Decode one source row. Stubs of files that were only registered have no metadata yet."""
    meta = row.maybe_list(2)
    settings = row.maybe_list(3)
    kind_code = None if meta is None else meta.maybe_int(4)
    state_code = None if settings is None else settings.maybe_int(1)
    revision = None if meta is None else meta.maybe_list(3)
    state = STATES.get(state_code or 0, UNKNOWN)
    return Source(
        id=_source_id(row),
        title=row.maybe_text(1),
        kind=KINDS.get(kind_code or 0, UNKNOWN),
        kind_code=kind_code,
        state=state,
        state_code=state_code,
        word_count=None if meta is None else meta.maybe_int(1),
        created_at=None if meta is None else maybe_time(meta, 2),
        url=None if meta is None else _url(meta),
        revision=None if revision is None else revision.maybe_text(0),
        drive_file_id=None if meta is None else _maybe_drive_file_id(meta),
        failure=_maybe_failure(settings) if settings is not None and state == "failed" else None,
    )


def is_id(value: object) -> TypeGuard[str]:
    """Tell whether a value is an id as the service writes it: lower-case UUID text."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def read_id(row: Slot, index: int) -> str:
    """Read a notebook, source, note or conversation id; it can stand in a path as it is."""
    value = row.text(index)
    if not is_id(value):
        raise row.drift(index, "an id (lower-case UUID)", "other text")
    return value


def maybe_time(row: Slot, index: int) -> datetime | None:
    """Read a timestamp ``[seconds, nanos]``; the nanos may be cut off."""
    parts = row.maybe_list(index)
    if parts is None or len(parts) == 0:
        return None
    seconds, nanos = parts.int_or_zero(0), parts.int_or_zero(1)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise row.drift(index, "a point in time", "a number out of range") from None


def _source_id(row: Slot) -> str:
    # ``[ID]``; Drive rows may have ``[null, true, [ID]]``.
    holder = row.list_at(0)
    if holder.raw(0) is None and len(holder) > 2:
        holder = holder.list_at(2)
    return read_id(holder, 0)


def _url(meta: Slot) -> str | None:
    # Web pages: ``[7] = [url]``. YouTube: ``[5] = [url, video id, channel]``.
    for index in (7, 5):
        block = meta.maybe_list(index)
        url = None if block is None else block.maybe_text(0)
        if url:
            return url
    return None


def _maybe_drive_file_id(meta: Slot) -> str | None:
    # Documents and slides: ``[0] = [file id, revision token, number]``. Other Drive files: ``[9] = [file id, …]``; that
    # is only reported publicly, so another shape there costs the id, not the notebook.
    block = meta.maybe_list(0)
    file_id = None if block is None else block.maybe_text(0)
    if file_id:
        return file_id
    other = as_list(meta.raw(9)) or [None]
    return other[0] if isinstance(other[0], str) and other[0] else None


def _maybe_failure(settings: Slot) -> str | None:
    # Both are only reported publicly, so another shape costs the reason and nothing else.
    drive_status = settings.raw(3)
    if type(drive_status) is int and drive_status in DRIVE_FAILURES:
        return DRIVE_FAILURES[drive_status]
    details = as_list(settings.raw(2)) or []
    fetch = (as_list(details[6]) if len(details) > 6 else None) or [None]
    return f"fetch failure {fetch[0]}" if type(fetch[0]) is int else None


def _first_of_each_id(sources: Iterable[Source]) -> tuple[Source, ...]:
    # The service may list one source twice; its first row is the one to keep.
    by_id: dict[str, Source] = {}
    for source in sources:
        by_id.setdefault(source.id, source)
    return tuple(by_id.values())
