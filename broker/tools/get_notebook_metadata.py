"""`get_notebook_metadata`: the locked notebook's facts, whatever id was asked for."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from broker.catalog import Hints, Tool
from broker.published import (
    CONTENT_NOTE,
    CONTENT_NOTE_SCHEMA,
    NOTEBOOK_FACTS,
    STATE_COUNTS_SCHEMA,
    notebook_facts,
    state_counts,
)
from broker.schemas import closed_object, flag, text
from broker.session import ToolCall


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    notebook_id: str | None = None


INPUT_SCHEMA = closed_object(
    {"notebook_id": text("Overwritten by the notebook this session is locked to.", maxLength=100)}
)

RESULT_SCHEMA = closed_object(
    {
        "notebook": closed_object(
            {**NOTEBOOK_FACTS, "sources_by_state": STATE_COUNTS_SCHEMA},
            required=("id", "title", "source_count", "sources_by_state"),
        ),
        "notebook_id_overridden": flag("True when another notebook was asked for: this is the locked one."),
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("notebook", "notebook_id_overridden", "content_note"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    locked = await call.session.locked_notebook(call.ctx)
    notebook = await call.session.upstream.get_notebook(locked.id, call.ctx)
    asked_for = arguments.notebook_id
    return {
        "notebook": {**notebook_facts(notebook), "sources_by_state": state_counts(notebook)},
        "notebook_id_overridden": asked_for is not None and asked_for.lower() != locked.id,
        "content_note": CONTENT_NOTE,
    }


TOOL: Final = Tool(
    name="get_notebook_metadata",
    title="Read the selected notebook's metadata",
    description=(
        "Returns title, role, time stamps and source counts of the notebook this session is locked to. A foreign "
        "notebook_id is overwritten, and notebook_id_overridden says so. Needs select_notebook first."
    ),
    hints=Hints(read_only=True, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
)
