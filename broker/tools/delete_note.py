"""`delete_note`: one note, for good, after asking the person where the client can."""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from broker.catalog import CALL_TIMEOUT_S, Hints, Tool
from broker.confirmation import CONFIRM_WITHIN_S
from broker.published_mutation import IDEMPOTENCY_KEY_SCHEMA, RUNNING_FACTS, with_retry
from broker.schemas import UUID_PATTERN, closed_object, text
from broker.session import ToolCall


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    note_id: str
    idempotency_key: str


INPUT_SCHEMA = closed_object(
    {
        "note_id": text("The note's id, from list_notes.", pattern=UUID_PATTERN),
        "idempotency_key": IDEMPOTENCY_KEY_SCHEMA,
    },
    required=("note_id", "idempotency_key"),
)

RESULT_SCHEMA = closed_object(
    {
        "status": text("running: make the same call again after retry_after_s.", enum=["deleted", "running"]),
        "notebook_id": text(),
        "note_id": text(),
        **RUNNING_FACTS,
    },
    required=("status", "notebook_id", "note_id"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    from broker.note_writing import delete_note

    # Only the person may take long; what is read before and after the question keeps to the usual time.
    call = evolve(call, ctx=call.ctx.with_timeout(CALL_TIMEOUT_S))
    locked = await call.session.locked_notebook(call.ctx)
    note_id = arguments.note_id.lower()
    facts = await delete_note(call.session, locked.id, note_id, arguments.idempotency_key, call)
    return {**with_retry(facts), "notebook_id": locked.id, "note_id": note_id}


TOOL: Final = Tool(
    name="delete_note",
    title="Delete a note from the selected notebook",
    description=(
        "Deletes one note for good; it cannot be restored. Asks the person first where the client can: CANCELLED means "
        "that they said no. Only ids of notes from list_notes are taken, so nothing else can be deleted. The same "
        "idempotency_key with the same note_id returns the stored result. MUTATION_UNKNOWN means that the note may be "
        "gone; repeat the call with the same key to look again. When status is running, do the same. Needs "
        "select_notebook first."
    ),
    hints=Hints(read_only=False, destructive=True, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
    timeout_s=2 * CALL_TIMEOUT_S + CONFIRM_WITHIN_S + 10.0,
)
