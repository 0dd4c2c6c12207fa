"""Adding a source: one request for text, address or Drive document; registration and upload for a file.

Being added and becoming ready are two facts. This module settles the first; `broker.source_waiting` waits for the
second, outside of the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from broker.calls import CallContext
from broker.errors import GatewayError
from broker.journal_rows import Json, fingerprint
from broker.journal_states import State
from broker.mutations import Mutation, Refused, Result
from broker.notebooks import Source
from broker.proving import create_once, doubles_of
from broker.published import source_row
from broker.published_mutation import with_doubles
from broker.requests import DriveSpec, SourceSpec, TextSpec, WebSpec, YouTubeSpec
from broker.session import Session, ToolCall
from broker.write_requests import carry_out, make_request

if TYPE_CHECKING:
    from broker.file_access import OpenedFile

ADD_TIMEOUT_S: Final = 240.0
"""For the one request: the service answers when it has read the source (recorded: 1.2 to 6.5 s)."""
UPLOAD_TIMEOUT_S: Final = 6 * 3600.0
"""For a whole upload; each of its requests has its own, shorter one."""
TOOL: Final = "add_source"
UPLOAD: Final = "upload"


@frozen
class FileSpec:
    """A file that is open already: what is uploaded is what the path named at the time of the call (C-084)."""

    file: OpenedFile = field(repr=False)
    name: str
    mime_type: str


async def add_source(session: Session, notebook_id: str, spec: SourceSpec, key: str, call: ToolCall) -> Result:
    """Add one source per key. Returns the facts of the result, or of the running form.

    Raises: as `Mutations.carry_out`.
    """
    request = await make_request(session, notebook_id, TOOL, key, _payload(spec), _visible(spec), call)
    write = partial(_add, session, spec, call.ctx.detached(ADD_TIMEOUT_S))
    return await carry_out(session, request, write, call)


async def add_file(session: Session, notebook_id: str, spec: FileSpec, key: str, call: ToolCall) -> Result:
    """Add one file per key. The file stays open for as long as the write runs, and is closed at its end.

    Raises: as `Mutations.carry_out`.
    """
    payload: Json = {
        "type": "file",
        "name": spec.name,
        "mime_type": spec.mime_type,
        "size_bytes": spec.file.size_bytes,
        "sha256": spec.file.sha256,
    }
    looks = fingerprint("file", spec.name)
    request = await make_request(session, notebook_id, TOOL, key, payload, looks, call)
    write = partial(_add_file, session, spec, call.ctx.detached(UPLOAD_TIMEOUT_S))
    return await carry_out(session, request, write, call, release=spec.file.close)


# ---------------------------------------------------------------------------------------------------- one request
async def _add(session: Session, spec: SourceSpec, ctx: CallContext, mutation: Mutation) -> Result:
    notebook_id = mutation.record.notebook_id
    mutation.show(stage="add")
    added: list[Source] = []

    async def send() -> str:
        source = await session.upstream.add_source(notebook_id, spec, ctx)
        added.append(source)
        return source.id

    read_list = partial(_sources, session, notebook_id, ctx)
    source_id = await create_once(mutation, "add", "source", read_list, send, _recogniser(spec))
    source = added[0] if added else await _maybe_source(session, notebook_id, source_id, ctx)
    return with_doubles(_added(source_id, source), doubles_of(mutation, "add"))


async def _sources(session: Session, notebook_id: str, ctx: CallContext) -> dict[str, Source]:
    return {source.id: source for source in (await session.upstream.get_notebook(notebook_id, ctx)).sources}


async def _maybe_source(session: Session, notebook_id: str, source_id: str, ctx: CallContext) -> Source | None:
    """Return what the notebook says of a source that is proven; that it cannot be read now changes nothing."""
    try:
        return (await _sources(session, notebook_id, ctx)).get(source_id)
    except GatewayError:
        return None


def _added(source_id: str, source: Source | None) -> Result:
    result: Result = {"status": "added", "source_id": source_id}
    return result if source is None else {**result, "source": source_row(source)}


def _payload(spec: SourceSpec) -> Json:
    match spec:
        case TextSpec():
            return {"type": "text", "title": spec.title, "text": spec.text}
        case WebSpec() | YouTubeSpec():
            return {"type": "url", "url": spec.url}
        case DriveSpec():
            return {"type": "drive", "doc_id": spec.file_id, "mime_type": spec.mime_type}


def _visible(spec: SourceSpec) -> str:
    match spec:
        case TextSpec():
            return fingerprint("text", spec.title)
        case WebSpec() | YouTubeSpec():
            return fingerprint("url", spec.url)
        case DriveSpec():
            return fingerprint("drive", spec.file_id)


def _recogniser(spec: SourceSpec) -> Callable[[Source], bool]:
    """Return what tells, of a source that was not there before, whether it could be this one.

    Only a fact that is there and agrees speaks for it. A text that the person pastes in the same seconds has no address
    either; every recorded source that came from an address or from Drive shows it (wire reference, 4.2).
    """
    match spec:
        case TextSpec():
            return lambda source: _is_own_text(source) and source.title == spec.title
        case WebSpec() | YouTubeSpec():
            return lambda source: source.url == spec.url
        case DriveSpec():
            return lambda source: source.drive_file_id == spec.file_id


def _is_own_text(source: Source) -> bool:
    """Tell whether a source can have come as text or as a file."""
    return source.url is None and source.drive_file_id is None


# ---------------------------------------------------------------------------------------------------- a file
class _UploadSteps:
    """The journal's side of an upload: what must be durable before something leaves."""

    def __init__(self, mutation: Mutation, source_id: str) -> None:
        self._mutation = mutation
        self._source_id = source_id
        facts = step.facts if (step := mutation.maybe_step(UPLOAD)) is not None else {}
        self.upload: str | None = str(facts["upload"]) if facts.get("upload") else None
        self.finalize_sent = facts.get("finalize_sent") is True
        self.starts = int(str(facts.get("starts", 0)))

    async def started(self, upload: str) -> None:
        self.upload, self.finalize_sent, self.starts = upload, False, self.starts + 1
        await self._store()

    async def finalizing(self) -> None:
        self.finalize_sent = True
        await self._store()

    async def _store(self) -> None:
        facts: Json = {
            "remote_id": self._source_id,
            "upload": self.upload,
            "finalize_sent": self.finalize_sent,
            "starts": self.starts,
        }
        await self._mutation.mark_sent(UPLOAD, facts)


async def _add_file(session: Session, spec: FileSpec, ctx: CallContext, mutation: Mutation) -> Result:
    from broker.uploading import UploadJob, upload_file

    notebook_id = mutation.record.notebook_id
    read_list = partial(_sources, session, notebook_id, ctx)
    mutation.show(stage="register")
    source_id = await create_once(
        mutation,
        "register",
        "source",
        read_list,
        lambda: session.upstream.register_file(notebook_id, spec.name, ctx),
        lambda source: _is_own_text(source) and source.title == spec.name,
    )
    done = mutation.maybe_step(UPLOAD)
    if done is None or done.state is not State.CONFIRMED:

        async def read_source() -> Source | None:
            return (await read_list()).get(source_id)

        async def on_bytes(sent_bytes: int, size_bytes: int) -> None:
            mutation.show(stage="upload", source_id=source_id, bytes_sent=sent_bytes, size_bytes=size_bytes)

        record = _UploadSteps(mutation, source_id)
        job = UploadJob(notebook_id, source_id, spec.file, spec.name, spec.mime_type)
        try:
            await upload_file(session.companion, job, record, read_source, ctx, on_bytes, session.rng)
        except GatewayError as error:
            if error.definite:
                raise Refused(error) from error
            raise
        if mutation.maybe_step(UPLOAD) is None:
            await record.finalizing()
        await mutation.prove_step(UPLOAD, {"remote_id": source_id})
    source = await _maybe_source(session, notebook_id, source_id, ctx)
    return with_doubles(_added(source_id, source), doubles_of(mutation, "register"))
