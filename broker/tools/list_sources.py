"""`list_sources`: the locked notebook's sources, page by page."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from broker.catalog import Hints, Tool
from broker.cursor import RowKey, paginate
from broker.published import (
    CONTENT_NOTE,
    CONTENT_NOTE_SCHEMA,
    MAX_LIST_CHARS,
    SOURCE_SCHEMA,
    page_properties,
    source_row,
)
from broker.schemas import closed_object, list_of, text, whole_number
from broker.session import ToolCall

DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    page_size: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None


INPUT_SCHEMA = closed_object(page_properties(DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))

RESULT_SCHEMA = closed_object(
    {
        "notebook_id": text(),
        "sources": list_of(SOURCE_SCHEMA),
        "total_count": whole_number(minimum=0),
        "next_cursor": text("Only when there are more."),
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("notebook_id", "sources", "total_count", "content_note"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    locked = await call.session.locked_notebook(call.ctx)
    notebook = await call.session.upstream.get_notebook(locked.id, call.ctx)
    page = paginate(
        notebook.sources,
        lambda source: RowKey.of(source.created_at, source.id),
        source_row,
        tool=TOOL.name,
        scope=locked.id,
        cursor=arguments.cursor,
        page_size=arguments.page_size,
        max_chars=MAX_LIST_CHARS,
    )
    return {"notebook_id": locked.id, **page.as_json("sources"), "content_note": CONTENT_NOTE}


TOOL: Final = Tool(
    name="list_sources",
    title="List the selected notebook's sources",
    description=(
        "Lists the sources of the notebook this session is locked to, oldest first, with type and processing state. "
        "Follow next_cursor until it is absent. Only sources in state ready can be asked. Needs select_notebook first."
    ),
    hints=Hints(read_only=True, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
)
