"""The calls that add, register and delete sources (wire reference §6)."""

from __future__ import annotations

import uuid
from typing import Final

from harness.emulator.ingestion import PAGE_READ_S, TEXT_READ_S, start_reading
from harness.emulator.model import Notebook, Source, SourceState, SourceType, WebPage
from harness.emulator.params import (
    INVALID_ARGUMENT,
    Denied,
    expect,
    only,
    only_text,
    rows,
    text,
)
from harness.emulator.rows import GOOGLE_DOCUMENT_TYPES, registered_row, source_row
from harness.emulator.source_specs import (
    TAIL_CLIENT,
    TAIL_NEW,
    DriveSpec,
    PageSpec,
    Spec,
    TextSpec,
    VideoSpec,
    read_spec,
)
from harness.emulator.state import ServiceState, now
from harness.emulator.video_address import video_id
from harness.emulator.web import drive_file_at, page_at
from harness.emulator.wire_json import Json
from harness.emulator.writes import Waiting, Write, Writer

ANSWER_WAIT_S: Final = 0.5
"""`izAoDd` answers when the source is read, and after this time anyway [the bound is ours]."""
_DRIVE_TYPES: Final = {
    **GOOGLE_DOCUMENT_TYPES,
    "application/vnd.google-apps.spreadsheet": SourceType.GOOGLE_SHEETS,
    "application/pdf": SourceType.PDF,
}


def add_sources(write: Write) -> Waiting:
    """``izAoDd [[spec, …],ID,tail…]`` -> ``[[source row, …]]``, once they are read."""
    expect(len(write.params) >= 3)
    tail = write.params[2:]
    specs = [read_spec(spec, tail) for spec in rows(write.params[0])]
    notebook = write.state.notebook_to_change(text(write.params[1]), write.account.email)
    _room_for(notebook, len(specs))
    sources: list[Source] = []
    waits_s: list[float] = []
    for spec in specs:
        source, takes_s = _source_from(write.state, spec)
        write.state.insert_source(notebook, source)
        read_s = start_reading(write.state, source, write.reading, takes_s)
        waits_s.append(0 if write.reading.script else ANSWER_WAIT_S if read_s is None else read_s)
        sources.append(source)

    def result() -> Json:
        return [[source_row(source, with_tokens=True) for source in sources]]

    return Waiting(min(max(waits_s), ANSWER_WAIT_S), result)


def register_files(write: Write) -> Json:
    """``o4cbdc [[[name], …],ID,tail…]`` -> ``[[stub, …],null,[[stub, …]]]``; they stay preparing until an upload."""
    expect(len(write.params) >= 3 and write.params[2:] in (TAIL_NEW, TAIL_CLIENT))
    names = [only_text(name) for name in rows(write.params[0])]
    notebook = write.state.notebook_to_change(text(write.params[1]), write.account.email)
    _room_for(notebook, len(names))
    stubs: list[Json] = []
    for name in names:
        source = _new_source(name, "", SourceType.UNKNOWN)
        source.state, source.awaits_bytes = SourceState.PREPARING, write.reading
        write.state.insert_source(notebook, source)
        stubs.append(registered_row(source.id, name))
    return [stubs, None, [list(stubs)]]


def delete_sources(write: Write) -> Json:
    """``tGMBJ [[[ID]]]``, several as ``[[[ID],[ID]]]`` -> ``[]``."""
    doomed = [only_text(source_id) for source_id in rows(only(write.params))]
    for source_id in doomed:
        notebook, _ = write.state.source_for(source_id, write.account.email)
        write.state.notebook_to_change(notebook.id, write.account.email)
    for source_id in doomed:
        write.state.remove_source(source_id)
    return []


def _room_for(notebook: Notebook, number: int) -> None:
    """Raise status 3 at the notebook's limit, which is the same number as for bad parameters [reported]."""
    if len(notebook.sources) + number > notebook.source_limit:
        raise Denied(INVALID_ARGUMENT)


def _source_from(state: ServiceState, spec: Spec) -> tuple[Source, float]:
    """Return the source that a spec makes and the seconds that reading it takes.

    Raises:
        Denied: 3 for an address that names no video.
    """
    match spec:
        case TextSpec():
            return _new_source(spec.title, spec.text, SourceType.TEXT, plain=True), TEXT_READ_S
        case PageSpec():
            page = page_at(state, spec.url)
            return _new_source(page.title, page.text, SourceType.WEB_PAGE, url=spec.url), PAGE_READ_S
        case VideoSpec():
            video = video_id(spec.url)
            if video is None:
                raise Denied(INVALID_ARGUMENT)
            talk = page_at(state, spec.url, WebPage(f"Video {video}", f"What is said in the video {video}."))
            return _new_source(talk.title, talk.text, SourceType.YOUTUBE, url=spec.url), PAGE_READ_S
        case DriveSpec():
            file = drive_file_at(state, spec.file_id, spec.mime_type)
            kind = _DRIVE_TYPES.get(file.mime_type, SourceType.OTHER_DRIVE_FILE)
            source = _new_source(file.title, file.text, kind)
            source.drive = file
            return source, PAGE_READ_S


def _new_source(title: str, body: str, kind: SourceType, *, url: str | None = None, plain: bool = False) -> Source:
    summary = f"**{title}** in short: {body[:80]}"
    return Source(
        id=str(uuid.uuid4()),
        title=title,
        text=body,
        type=kind,
        state=SourceState.PROCESSING,
        added=now(),
        revision_id=str(uuid.uuid4()),
        revised=now(),
        url=url,
        summary=summary,
        keywords=(title,),
        plain=plain,
    )


SOURCE_WRITES: Final[dict[str, Writer]] = {
    "izAoDd": add_sources,
    "o4cbdc": register_files,
    "tGMBJ": delete_sources,
}
