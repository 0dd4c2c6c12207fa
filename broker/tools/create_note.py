"""`create_note`: one note per idempotency key."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from broker.catalog import Hints, Tool
from broker.published import CONTENT_NOTE, CONTENT_NOTE_SCHEMA
from broker.published_mutation import DOUBLES_SCHEMA, IDEMPOTENCY_KEY_SCHEMA, RUNNING_FACTS, with_retry
from broker.schemas import closed_object, text
from broker.session import ToolCall

MAX_TITLE_CHARS: Final = 1_000
MAX_CONTENT_CHARS: Final = 500_000


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    title: str
    content: str
    idempotency_key: str


INPUT_SCHEMA = closed_object(
    {
        "title": text("The note's title.", minLength=1, maxLength=MAX_TITLE_CHARS),
        "content": text("The note's text, Markdown.", minLength=1, maxLength=MAX_CONTENT_CHARS),
        "idempotency_key": IDEMPOTENCY_KEY_SCHEMA,
    },
    required=("title", "content", "idempotency_key"),
)

RESULT_SCHEMA = closed_object(
    {
        "status": text(enum=["created", "running"]),
        "notebook_id": text(),
        "note_id": text("Unless status is running."),
        "title": text(),
        "possible_duplicates": DOUBLES_SCHEMA,
        **RUNNING_FACTS,
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("status", "notebook_id", "content_note"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    from broker.note_writing import create_note

    locked = await call.session.locked_notebook(call.ctx)
    key = arguments.idempotency_key
    facts = await create_note(call.session, locked.id, arguments.title, arguments.content, key, call)
    return {**with_retry(facts), "notebook_id": locked.id, "content_note": CONTENT_NOTE}


TOOL: Final = Tool(
    name="create_note",
    title="Create a note in the selected notebook",
    description=(
        "Creates one note. The same idempotency_key with the same arguments never creates a second one: it returns the "
        "stored result, also after a crash. MUTATION_UNKNOWN means that the note may exist; repeat the call with the "
        "same key to look again. When status is running, do the same. Needs select_notebook first."
    ),
    hints=Hints(read_only=False, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
    timeout_s=60.0,
)
