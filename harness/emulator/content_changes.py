"""Changes of contents for ``POST /state``: sources, notes, and what the service finds in the web and in Drive."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Final

from harness.emulator.change_checks import (
    Action,
    BadChange,
    Change,
    items_at,
    notebook_at,
    object_at,
    only_fields,
    source_at,
    source_state_at,
)
from harness.emulator.model import DriveFile, Note, Notebook, NoteKind, Source, SourceState, SourceType, WebPage
from harness.emulator.state import ServiceState, now
from harness.emulator.wire_json import Json


def _source_states(state: ServiceState, value: Json) -> Action:
    changes = [
        (source_at(state, source_id), source_state_at(number, f"source_states[{source_id}]"))
        for source_id, number in object_at(value, "source_states").items()
    ]

    def act() -> None:
        for source, wanted in changes:
            source.reading = None  # from here on it is what the test says
            state.set_source_state(source, wanted)

    return act


def _add_sources(state: ServiceState, value: Json) -> Action:
    """Each: ``{"notebook", "title", "text"?, "id"?, "position"?, "state"?, "url"?}``."""
    additions = [_addition(state, fields) for fields in items_at(value, "add_sources")]

    def act() -> None:
        for notebook, source, position in additions:
            state.insert_source(notebook, source, position)

    return act


def _addition(state: ServiceState, fields: dict[str, Json]) -> tuple[Notebook, Source, int | None]:
    only_fields(fields, "add_sources[]", "notebook", "title", "text", "id", "position", "state", "url")
    title, text, position = fields.get("title"), fields.get("text", ""), fields.get("position")
    url = fields.get("url")
    source_id = fields.get("id", str(uuid.uuid4()))
    if not isinstance(title, str) or not isinstance(text, str) or not isinstance(source_id, str):
        raise BadChange("add_sources[] needs a text `title`, and `text` and `id` are texts")
    if url is not None and not isinstance(url, str):
        raise BadChange(f"url must be a text or null, not {url!r}")
    if any(source.id == source_id for source in state.sources()):
        raise BadChange(f"there is a source {source_id!r} already")
    if position is not None and (isinstance(position, bool) or not isinstance(position, int) or position < 0):
        raise BadChange(f"position must be a whole number from 0 or null, not {position!r}")
    wanted = source_state_at(fields.get("state", int(SourceState.READY)), "state")
    kind = SourceType.TEXT if url is None else SourceType.WEB_PAGE
    source = Source(source_id, title, text, kind, wanted, now(), str(uuid.uuid4()), now(), url)
    return notebook_at(state, fields.get("notebook")), source, position


def _remove_sources(state: ServiceState, value: Json) -> Action:
    if not isinstance(value, list):
        raise BadChange("remove_sources must be a list of source ids")
    sources = [source_at(state, source_id) for source_id in value]

    def act() -> None:
        for source in sources:
            state.remove_source(source.id)

    return act


def _source_limits(state: ServiceState, value: Json) -> Action:
    """``{notebook ID: number}``: how many sources it may hold."""
    limits: list[tuple[Notebook, int]] = []
    for notebook_id, limit in object_at(value, "source_limits").items():
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise BadChange(f"source_limits[{notebook_id}] must be a whole number from 0, not {limit!r}")
        limits.append((notebook_at(state, notebook_id), limit))

    def act() -> None:
        for notebook, limit in limits:
            notebook.source_limit = limit

    return act


def _add_notes(state: ServiceState, value: Json) -> Action:
    """Each: ``{"notebook", "title", "text"?, "kind"?, "mapped_sources"?, "deleted"?}``."""
    additions = [_note(state, fields) for fields in items_at(value, "add_notes")]

    def act() -> None:
        for notebook, note in additions:
            notebook.notes.append(note)

    return act


def _note(state: ServiceState, fields: dict[str, Json]) -> tuple[Notebook, Note]:
    only_fields(fields, "add_notes[]", "notebook", "title", "text", "kind", "mapped_sources", "deleted")
    notebook = notebook_at(state, fields.get("notebook"))
    title, text = _texts(fields, "add_notes[]", "title", "text")
    kind, mapped = fields.get("kind", int(NoteKind.WRITTEN)), fields.get("mapped_sources", [])
    if kind not in list(NoteKind) or isinstance(kind, bool):
        raise BadChange(f"kind must be one of {[int(item) for item in NoteKind]}, not {kind!r}")
    if not isinstance(mapped, list):
        raise BadChange(f"mapped_sources must be a list of source ids, not {mapped!r}")
    sources = tuple(str(source_id) for source_id in mapped)
    author = state.account(notebook.owner)
    is_deleted = fields.get("deleted", False) is True
    return notebook, Note(str(uuid.uuid4()), title, text, now(), author.user_id, NoteKind(kind), sources, is_deleted)


def _web_pages(state: ServiceState, value: Json) -> Action:
    """``{url: {"title", "text"}}``: what an address leads to when it is added from now on."""
    pages: dict[str, WebPage] = {}
    for url, fields in object_at(value, "web_pages").items():
        name = f"web_pages[{url}]"
        page = object_at(fields, name)
        only_fields(page, name, "title", "text")
        pages[url] = WebPage(*_texts(page, name, "title", "text"))
    return partial(state.web_pages.update, pages)


def _drive_files(state: ServiceState, value: Json) -> Action:
    """``{file ID: {"mime_type", "title", "text"}}``: what is in Drive."""
    found: dict[str, DriveFile] = {}
    for file_id, fields in object_at(value, "drive_files").items():
        name = f"drive_files[{file_id}]"
        file = object_at(fields, name)
        only_fields(file, name, "mime_type", "title", "text")
        found[file_id] = DriveFile(file_id, *_texts(file, name, "mime_type", "title", "text"))
    return partial(state.drive_files.update, found)


def _texts(fields: dict[str, Json], name: str, *keys: str) -> list[str]:
    """Return the values of some keys, all texts; one that is missing is empty."""
    texts: list[str] = []
    for key in keys:
        value = fields.get(key, "")
        if not isinstance(value, str):
            raise BadChange(f"{name}.{key} must be a text, not {value!r}")
        texts.append(value)
    return texts


CONTENT_CHANGES: Final[dict[str, Change]] = {
    "source_states": _source_states,
    "add_sources": _add_sources,
    "remove_sources": _remove_sources,
    "source_limits": _source_limits,
    "add_notes": _add_notes,
    "web_pages": _web_pages,
    "drive_files": _drive_files,
}
