"""The parameters of every call we make, slot by slot (wire reference, 5, 6 and 8).

Pure. One function per call. The service's RPC ids are obfuscated names; each stands here once, beside its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import field, frozen

from broker.wire_json import clean_text

STREAM: Final = "GenerateFreeFormStreamed"
ADD_SOURCE: Final = "izAoDd"
REGISTER_FILE: Final = "o4cbdc"
LIST_NOTES: Final = "cFji9"
CREATE_NOTE: Final = "CYK0Xb"
FILL_NOTE: Final = "cYAfTb"
DELETE_NOTE: Final = "AH0mwd"


@frozen
class RpcRequest:
    """One call: what to send, and the notebook whose page it belongs to (`source-path`), or None for the front page."""

    rpc_id: str
    params: list[object] = field(repr=False)
    notebook: str | None


@frozen
class TextSpec:
    """A source of pasted text."""

    title: str
    text: str = field(repr=False)


@frozen
class WebSpec:
    """A web page that the service reads itself."""

    url: str


@frozen
class YouTubeSpec:
    """A video, whose captions the service reads."""

    url: str


@frozen
class DriveSpec:
    """A Drive document by its bare id. The service ignores the title and takes the file's own name (recorded)."""

    file_id: str
    mime_type: str
    title: str


SourceSpec = TextSpec | WebSpec | YouTubeSpec | DriveSpec


def request_options() -> list[object]:
    """Return the "who is asking" block of 2026; migrated accounts refuse the older ``[2]`` on some calls."""
    return [2, None, None, [1, *[None] * 9, [1]]]


def list_notebooks() -> RpcRequest:
    return RpcRequest("wXbhsf", [None, 1, None, request_options()], notebook=None)


def get_notebook(notebook_id: str) -> RpcRequest:
    return RpcRequest("rLM1Ne", [notebook_id, None, request_options(), None, 0], notebook_id)


def read_source_text(notebook_id: str, source_id: str) -> RpcRequest:
    return RpcRequest("hizoJc", [[source_id], [2], [2]], notebook_id)


def read_source_guide(notebook_id: str, source_id: str) -> RpcRequest:
    return RpcRequest("tr032e", [[[[source_id]]]], notebook_id)


def list_conversations(notebook_id: str) -> RpcRequest:
    return RpcRequest("hPTbtc", [request_options(), None, notebook_id, 20], notebook_id)


def list_turns(notebook_id: str, conversation_id: str, limit: int, cursor: str | None = None) -> RpcRequest:
    params: list[object] = [request_options(), None, None, conversation_id, limit]
    return RpcRequest("khqZz", params if cursor is None else [*params, cursor], notebook_id)


def add_source(notebook_id: str, spec: SourceSpec) -> RpcRequest:
    """Build the request that adds one source and is answered when the service has read it."""
    rest: list[object] = [request_options()]
    slots: list[object]
    match spec:
        case TextSpec():
            slots = [None, [clean_text(spec.title), clean_text(spec.text)], None, 2, *[None] * 6, 1]
        case WebSpec():
            slots = [None, None, [clean_text(spec.url)], *[None] * 7, 1]
        case YouTubeSpec():
            slots = [*[None] * 7, [clean_text(spec.url)], None, None, 1]
        case DriveSpec():
            slots = [[spec.file_id, spec.mime_type, 1, clean_text(spec.title)], *[None] * 9, 1]
            rest = [[2], [1, *[None] * 9, [1]]]  # the one kind that still goes with the older options (recorded)
    return RpcRequest(ADD_SOURCE, [[slots], notebook_id, *rest], notebook_id)


def register_file(notebook_id: str, name: str) -> RpcRequest:
    """Build the request that makes an empty source, to which a file is then uploaded."""
    return RpcRequest(REGISTER_FILE, [[[clean_text(name)]], notebook_id, request_options()], notebook_id)


def list_notes(notebook_id: str) -> RpcRequest:
    return RpcRequest(LIST_NOTES, [notebook_id], notebook_id)


def create_note(notebook_id: str) -> RpcRequest:
    """Build the request that makes an empty note; the service is said to ignore any title and text here."""
    return RpcRequest(CREATE_NOTE, [notebook_id, "", [1], None, "New Note"], notebook_id)


def fill_note(notebook_id: str, note_id: str, title: str, text: str) -> RpcRequest:
    """Build the request that replaces a note's title and text as a whole."""
    content: list[object] = [clean_text(text), clean_text(title), [], 0]
    return RpcRequest(FILL_NOTE, [notebook_id, note_id, [[content]]], notebook_id)


def delete_note(notebook_id: str, note_id: str) -> RpcRequest:
    return RpcRequest(DELETE_NOTE, [notebook_id, None, [note_id]], notebook_id)


def ask_params(notebook_id: str, question: str, source_ids: Sequence[str], conversation: str | None) -> list[object]:
    """Build the nine slots of a question. `conversation` None lets the worker mint a fresh one.

    The question becomes valid Unicode, because it travels as UTF-8.
    """
    sources: list[object] = [[[source_id]] for source_id in source_ids]
    return [sources, clean_text(question), None, [2, None, [1], [1]], conversation, None, None, notebook_id, 1]
