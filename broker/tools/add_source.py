"""`add_source`: one source per idempotency key, of one of four types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio
from attrs import frozen

from broker.catalog import Hints, Tool
from broker.errors import GatewayError, InvalidArgument, NotFound
from broker.published import CONTENT_NOTE, CONTENT_NOTE_SCHEMA, SOURCE_SCHEMA
from broker.published_mutation import DOUBLES_SCHEMA, IDEMPOTENCY_KEY_SCHEMA, RUNNING_FACTS, with_retry
from broker.schemas import closed_object, flag, number, text, whole_number
from broker.session import ToolCall

if TYPE_CHECKING:
    from broker.file_access import OpenedFile
    from broker.notebooks import Source
    from broker.requests import SourceSpec
    from broker.source_adding import FileSpec

SETTLE_WITHIN_S: Final = 45.0
"""For adding and waiting together; then the result says `processing` or `running`, and the same call goes on."""
SANITY_WITHIN_S: Final = 5.0
"""For reading a web page's text to see whether it is one; a slow read costs the warning, never the result."""
MAX_TEXT_CHARS: Final = 4_000_000
"""The service takes 500,000 words; this only bounds what enters the chain."""

FIELDS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "text": (frozenset({"title", "content"}), frozenset[str]()),
    "url": (frozenset({"url"}), frozenset({"title"})),
    "drive": (frozenset({"doc_id"}), frozenset({"title", "mime_type"})),
    "file": (frozenset({"title", "file_path"}), frozenset({"mime_type"})),
}
"""Type → the fields it needs, and those it may have. Everything else belongs to another type (C-015)."""


@frozen
class SourceArguments:
    """See `INPUT_SCHEMA`."""

    type: str
    title: str | None = None
    content: str | None = None
    url: str | None = None
    doc_id: str | None = None
    file_path: str | None = None
    mime_type: str | None = None


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    idempotency_key: str
    source: SourceArguments
    wait_until_ready: bool = False


INPUT_SCHEMA = closed_object(
    {
        "idempotency_key": IDEMPOTENCY_KEY_SCHEMA,
        "source": closed_object(
            {
                "type": text("What is added; decides which other fields belong.", enum=list(FIELDS)),
                "title": text(
                    "Required for text and file. The service names web pages and Drive documents itself.",
                    minLength=1,
                    maxLength=1000,
                ),
                "content": text("text only: the raw text.", minLength=1, maxLength=MAX_TEXT_CHARS),
                "url": text(
                    "url only: http or https address of a page or a YouTube video.", minLength=1, maxLength=8192
                ),
                "doc_id": text("drive only: the Drive document's id, not its address.", minLength=1, maxLength=200),
                "file_path": text(
                    "file only: absolute path under the project folder or a configured root.",
                    minLength=1,
                    maxLength=4096,
                ),
                "mime_type": text(
                    "file and drive: overrides the type that the ending gives.", minLength=1, maxLength=200
                ),
            },
            required=("type",),
        ),
        "wait_until_ready": flag("Wait, for up to 45 s, until the source can be asked.", default=False),
    },
    required=("idempotency_key", "source"),
)

RESULT_SCHEMA = closed_object(
    {
        "status": text(
            "added: it is there; ready, processing, failed: its state after waiting; running: repeat the same call.",
            enum=["added", "ready", "processing", "failed", "running"],
        ),
        "notebook_id": text(),
        "source_id": text("Unless status is running and the service has not given it yet."),
        "source": SOURCE_SCHEMA,
        "title_ignored": flag("The service gave the source another title than the one asked for."),
        "reason": text("Why the source failed, in the service's words, or why waiting for it ended early."),
        "warning": text("Ready, but probably not the page that was meant."),
        "waited_s": number("How long it was waited for."),
        "bytes_sent": whole_number(minimum=0),
        "size_bytes": whole_number(minimum=0),
        "possible_duplicates": DOUBLES_SCHEMA,
        **RUNNING_FACTS,
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("status", "notebook_id", "content_note"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    from broker.source_adding import FileSpec, add_file, add_source

    locked = await call.session.locked_notebook(call.ctx)
    answer_at = trio.current_time() + SETTLE_WITHIN_S
    source, key = arguments.source, arguments.idempotency_key
    require_fields(source)
    spec = await _spec(source, call)
    if isinstance(spec, FileSpec):
        facts = await add_file(call.session, locked.id, spec, key, call)
    else:
        facts = await add_source(call.session, locked.id, spec, key, call)
    if facts["status"] == "added":
        facts = await _with_state(facts, arguments, locked.id, answer_at, call)
    return {**with_retry(facts), "notebook_id": locked.id, "content_note": CONTENT_NOTE}


def require_fields(source: SourceArguments) -> None:
    """Check that exactly the fields of the type are there.

    Raises:
        InvalidArgument: one is missing, or belongs to another type.
    """
    required, optional = FIELDS[source.type]
    given = {name for name in SOURCE_FIELDS if getattr(source, name) is not None}
    missing = sorted(required - given)
    foreign = sorted(given - required - optional)
    if missing:
        raise InvalidArgument(f"source.{missing[0]} is required for type {source.type}.", started=False)
    if foreign:
        raise InvalidArgument(
            f"source.{foreign[0]} does not belong to type {source.type}; it takes "
            f"{', '.join(sorted(required | optional))}.",
            started=False,
        )


SOURCE_FIELDS: Final = ("title", "content", "url", "doc_id", "file_path", "mime_type")


async def _spec(source: SourceArguments, call: ToolCall) -> SourceSpec | FileSpec:
    from broker.drive_documents import check_document
    from broker.requests import DriveSpec, TextSpec, WebSpec, YouTubeSpec
    from broker.web_address import check_url

    config = await call.session.config.get()
    match source.type:
        case "text":
            return TextSpec(source.title or "", source.content or "")
        case "url":
            address = check_url(source.url or "", allow_private=config.allow_private_urls)
            return YouTubeSpec(address.url) if address.is_video else WebSpec(address.url)
        case "drive":
            document = check_document(source.doc_id or "", source.mime_type)
            # The service puts the file's own name in its place, but the slot is never empty in recorded requests.
            return DriveSpec(document.id, document.mime_type, source.title or document.id)
        case _:
            return await _file_spec(source, call)


async def _file_spec(source: SourceArguments, call: ToolCall) -> FileSpec:
    """Open the file now: whatever happens to its path afterwards, this is what is uploaded (C-084)."""
    from broker.file_access import allowed_roots, open_file
    from broker.mime_types import mime_type_for
    from broker.source_adding import FileSpec

    path, title = source.file_path or "", source.title or ""
    mime_type = mime_type_for(path, source.mime_type)
    config = await call.session.config.get()
    project = await call.session.project()

    def opened() -> OpenedFile:
        return open_file(path, roots=allowed_roots(project, config), max_bytes=config.max_file_bytes)

    return FileSpec(await trio.to_thread.run_sync(opened, limiter=call.session.file_reads), title, mime_type)


async def _with_state(
    facts: dict[str, object], arguments: Arguments, notebook_id: str, answer_at: float, call: ToolCall
) -> dict[str, object]:
    """Add what became of the source: it is added whatever that is."""
    from broker.published import source_row
    from broker.source_waiting import wait_until_settled

    source_id = str(facts["source_id"])

    async def read_source() -> Source | None:
        notebook = await call.session.upstream.get_notebook(notebook_id, call.ctx)
        return next((source for source in notebook.sources if source.id == source_id), None)

    if arguments.wait_until_ready:
        settled = await wait_until_settled(read_source, rng=call.session.rng, deadline_s=answer_at, say=call.say)
        if settled.kind == "gone":
            raise _gone(source_id)
        facts = {**facts, "status": settled.kind, "waited_s": round(settled.elapsed_s, 1)}
        if settled.trouble is not None:
            facts["reason"] = f"It could not be looked at to the end: {settled.trouble.message}"
        if settled.source is not None:
            facts["source"] = source_row(settled.source)
            if settled.kind == "failed" and settled.source.failure:
                facts["reason"] = settled.source.failure
    elif "source" not in facts:
        # The write is settled, but its row could not be read then, or was deleted while the file went up.
        try:
            source = await read_source()
        except GatewayError:
            return facts  # that it cannot be read now takes nothing from the write
        if source is None:
            raise _gone(source_id)
        facts = {**facts, "source": source_row(source)}
    row = facts.get("source")
    if isinstance(row, dict):
        given = arguments.source.title
        if given is not None and row["title"] != given:
            facts["title_ignored"] = True
        if row["state"] == "ready" and row["kind"] == "web_page":
            warning = await _maybe_warning(notebook_id, source_id, call)
            if warning is not None:
                facts["warning"] = warning
    return facts


def _gone(source_id: str) -> NotFound:
    return NotFound(
        f"Source {source_id} was added, but the notebook does not have it any more.",
        hint="Somebody deleted it meanwhile. Add it again with a new idempotency_key if it is still wanted.",
        details={"source_id": source_id},
    )


async def _maybe_warning(notebook_id: str, source_id: str, call: ToolCall) -> str | None:
    """Look whether a ready page has a page's text. Best effort: it never fails a call."""
    from broker.content_sanity import warning_for

    ctx = call.ctx.with_timeout(SANITY_WITHIN_S)
    try:
        with trio.fail_at(ctx.deadline):
            read = await call.session.upstream.source_text(notebook_id, source_id, ctx)
    except (GatewayError, trio.TooSlowError):
        return None
    return warning_for(read.source, read.text)


TOOL: Final = Tool(
    name="add_source",
    title="Add a source to the selected notebook",
    description=(
        "Adds a text, a web page or YouTube video, a Google Drive document or a local file. Give exactly the fields of "
        "the type: text takes title and content; url takes url; drive takes doc_id; file takes title and file_path. "
        "The same idempotency_key with the same arguments never adds twice: it returns the stored result, also after "
        "a crash, and goes on with an upload. MUTATION_UNKNOWN means that the source may be there; repeat the call "
        "with the same key to look again. When status is running or processing, repeat the same call. Needs "
        "select_notebook first."
    ),
    hints=Hints(read_only=False, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
    timeout_s=60.0,
)
