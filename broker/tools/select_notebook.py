"""`select_notebook`: lock this session to one notebook, by id or by exact title (ADR-011, ADR-012)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio
from attrs import frozen

from broker.catalog import Hints, Tool
from broker.errors import AllowlistDenied, InvalidArgument, NotFound
from broker.project_file import Saved
from broker.published import CONTENT_NOTE, CONTENT_NOTE_SCHEMA, NOTEBOOK_FACTS, notebook_facts, shown_title
from broker.schemas import UUID_PATTERN, closed_object, flag, text
from broker.session import ToolCall
from broker.session_lock import LockedNotebook
from broker.tools.list_notebooks import Entry, allowed_notebooks

if TYPE_CHECKING:
    from broker.access import Permission
    from broker.notebooks import Notebook

MAX_TITLE_CHARS: Final = 1000
MAX_DIRECT_READS: Final = 10
"""How many allowed notebooks that the service's list lacks are read one by one to learn their titles."""
READS_AT_ONCE: Final = 4
MAX_SHOWN_TITLES: Final = 20


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    notebook_id: str | None = None
    title: str | None = None
    save_for_project: bool = True


INPUT_SCHEMA = closed_object(
    {
        "notebook_id": text("UUID of an allowed notebook, from list_notebooks.", pattern=UUID_PATTERN),
        "title": text("Exact title of an allowed notebook.", minLength=1, maxLength=MAX_TITLE_CHARS),
        "save_for_project": flag(
            "Also write the choice to .notebook_mcp.json of this project, as a proposal for later chats.", default=True
        ),
    }
)

RESULT_SCHEMA = closed_object(
    {
        "notebook": closed_object(NOTEBOOK_FACTS, required=("id", "title")),
        "already_selected": flag("True when this session was locked to this notebook before the call."),
        "project_file": closed_object(
            {"saved": flag(), "path": text(), "reason": text("Why it was not saved.")}, required=("saved",)
        ),
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("notebook", "already_selected", "project_file", "content_note"),
)


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    wanted_id, wanted_title = _selector(arguments)
    found: list[Notebook] = []

    def is_wanted(locked: LockedNotebook) -> bool:
        return locked.id == wanted_id if wanted_id is not None else locked.title == wanted_title

    async def resolve() -> LockedNotebook:
        notebook = await (_by_id(wanted_id, call) if wanted_id is not None else _by_title(wanted_title, call))
        found.append(notebook)
        return LockedNotebook(notebook.id, shown_title(notebook.title))

    locked, is_new = await call.session.lock.select(is_wanted, resolve)
    saved = await _save(locked, arguments, call)
    return {
        "notebook": notebook_facts(found[0]) if found else {"id": locked.id, "title": locked.title},
        "already_selected": not is_new,
        "project_file": _saved_row(saved),
        "content_note": CONTENT_NOTE,
    }


def _selector(arguments: Arguments) -> tuple[str | None, str]:
    """Return the id, or None and the title. Exactly one is given; a blank identifies nothing (C-018, C-019)."""
    if (arguments.notebook_id is None) == (arguments.title is None):
        given = "neither was" if arguments.title is None else "both were"
        raise InvalidArgument(f"Give exactly one of notebook_id and title; {given} given.", started=False)
    if arguments.notebook_id is not None:
        return arguments.notebook_id.lower(), ""
    title = arguments.title or ""
    if not title.strip():
        raise InvalidArgument("title is blank, which identifies no notebook.", started=False)
    return None, title


async def _by_id(notebook_id: str, call: ToolCall) -> Notebook:
    """Read the notebook itself: only that can say that it does not exist (C-021)."""
    await call.session.access.require_allowed(notebook_id)
    await call.session.access.check_account(call.ctx)
    _require_extension(notebook_id, await call.session.access.permission(call.ctx))
    return await call.session.upstream.get_notebook(notebook_id, call.ctx)


def _require_extension(notebook_id: str, permission: Permission) -> None:
    if notebook_id not in permission.by_extension:
        raise AllowlistDenied(
            f"Notebook {notebook_id} is not allowed in the browser extension.",
            hint="Ask the person to allow it in the extension too: `notebook-gateway allow add <notebook id>`.",
            details={"side": "extension"},
            started=False,
        )


async def _by_title(title: str, call: ToolCall) -> Notebook:
    entries, _ = await allowed_notebooks(call)
    notebooks = [entry.notebook for entry in entries if entry.notebook is not None]
    notebooks += await _read_unlisted([entry for entry in entries if entry.notebook is None], call)
    matches = [notebook for notebook in notebooks if notebook.title == title]
    if len(matches) == 1:
        return matches[0]
    if matches:
        candidates = [{"notebook_id": each.id, "title": shown_title(each.title)} for each in matches]
        listed = ", ".join(each.id for each in matches)
        raise InvalidArgument(
            f"{len(matches)} allowed notebooks have this title: {listed}.",
            hint="Ask the person which one, then select it by notebook_id.",
            details={"candidates": candidates},
        )
    raise NotFound(
        "No allowed notebook has exactly this title.",
        hint="Titles must match exactly; list_notebooks shows them. Ask the person, then select by notebook_id.",
        details={"titles": [shown_title(each.title) for each in notebooks[:MAX_SHOWN_TITLES]]},
    )


async def _read_unlisted(entries: list[Entry], call: ToolCall) -> list[Notebook]:
    """Read allowed notebooks that the service does not list, a few at a time; those that are gone are left out."""
    found: list[Notebook] = []
    limiter = trio.CapacityLimiter(READS_AT_ONCE)

    async def read(notebook_id: str) -> None:
        async with limiter:
            try:
                found.append(await call.session.upstream.get_notebook(notebook_id, call.ctx))
            except NotFound:
                return

    async with trio.open_nursery() as nursery:
        for entry in entries[:MAX_DIRECT_READS]:
            nursery.start_soon(read, entry.id)
    return found


async def _save(locked: LockedNotebook, arguments: Arguments, call: ToolCall) -> Saved:
    if not arguments.save_for_project:
        return Saved(None, "save_for_project is false")
    project = await call.session.project()
    return await trio.to_thread.run_sync(project.save, locked)


def _saved_row(saved: Saved) -> dict[str, object]:
    if saved.path is None:
        return {"saved": False, "reason": saved.reason}
    return {"saved": True, "path": str(saved.path)}


TOOL: Final = Tool(
    name="select_notebook",
    title="Select the notebook for this session",
    description=(
        "Locks this session to one notebook, for good: another one needs a new session. Give exactly one of "
        "notebook_id and title, and only after the person has confirmed the choice. Selecting the same notebook again "
        "succeeds. The choice is saved to .notebook_mcp.json when the working directory is a project."
    ),
    hints=Hints(read_only=False, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
)
