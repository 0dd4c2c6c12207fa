"""The tools as published: one module per tool, data on top and a handler below; this tuple registers them.

The order is the order of `tools/list`, and stays: clients cache the list.
"""

from __future__ import annotations

from typing import Final

from broker.catalog import AnyTool
from broker.tools import (
    add_source,
    create_note,
    delete_note,
    get_notebook_metadata,
    list_notebooks,
    list_notes,
    list_sources,
    query_notebook,
    select_notebook,
)

TOOLS: Final[tuple[AnyTool, ...]] = (
    select_notebook.TOOL,
    list_notebooks.TOOL,
    get_notebook_metadata.TOOL,
    list_sources.TOOL,
    query_notebook.TOOL,
    add_source.TOOL,
    create_note.TOOL,
    list_notes.TOOL,
    delete_note.TOOL,
)
