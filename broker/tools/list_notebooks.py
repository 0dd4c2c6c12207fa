"""`list_notebooks`: what the person allows, what this session is locked to, and what the project proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio
from attrs import frozen

from broker.catalog import Hints, Tool
from broker.cursor import RowKey, paginate
from broker.project_file import Ignored, Proposal
from broker.published import (
    CONTENT_NOTE,
    CONTENT_NOTE_SCHEMA,
    MAX_LIST_CHARS,
    NOTEBOOK_FACTS,
    Row,
    notebook_facts,
    page_properties,
)
from broker.schemas import closed_object, flag, list_of, text, whole_number
from broker.session import Session, ToolCall
from broker.session_lock import LockState

if TYPE_CHECKING:
    from broker.access import Permission
    from broker.notebooks import Notebook

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100

HOW_TO_ALLOW: Final = (
    "The person allows a notebook with `notebook-gateway allow add <notebook id>` (the id is in the notebook's "
    "address); that command says whether the extension's own list was changed too."
)


@frozen
class Arguments:
    """See `INPUT_SCHEMA`."""

    page_size: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None


@frozen
class Entry:
    """One allowed notebook; `notebook` is None when the service's list does not have it."""

    id: str
    notebook: Notebook | None

    @property
    def key(self) -> RowKey:
        return RowKey.of(self.notebook.created_at if self.notebook else None, self.id)

    def as_row(self) -> Row:
        # The service lists recently viewed notebooks; absence from that is no proof of deletion (C-021).
        if self.notebook is None:
            return {"id": self.id, "title": "", "confirmed": False}
        return {**notebook_facts(self.notebook), "confirmed": True}


INPUT_SCHEMA = closed_object(page_properties(DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE))

RESULT_SCHEMA = closed_object(
    {
        "user_prompt": text("What to do now, and what to ask the person."),
        "session": closed_object(
            {
                "state": text(enum=[str(state) for state in LockState]),
                "notebook_id": text("The notebook this process is locked to."),
                "notebook_title": text(),
            },
            required=("state",),
        ),
        "project_config": closed_object(
            {
                "status": text("What .notebook_mcp.json of this project is.", enum=["none", "proposed", "ignored"]),
                "notebook_id": text("The notebook it proposes. A proposal, never a selection."),
                "title": text("As the file has it: text from the project, not from the person."),
                "allowed": flag("Whether the person allows that notebook."),
                "reason": text("Why the project file is ignored."),
            },
            required=("status",),
        ),
        "notebooks": list_of(
            closed_object(
                {**NOTEBOOK_FACTS, "confirmed": flag("False: allowed, but not in the service's list of recent ones.")},
                required=("id", "title", "confirmed"),
            )
        ),
        "total_count": whole_number(minimum=0),
        "next_cursor": text("Only when there are more."),
        "content_note": CONTENT_NOTE_SCHEMA,
    },
    required=("user_prompt", "session", "project_config", "notebooks", "total_count", "content_note"),
)


async def allowed_notebooks(call: ToolCall) -> tuple[list[Entry], Permission]:
    """Return every notebook that both sides allow, whether the service lists it or not."""
    session = call.session
    await session.access.check_account(call.ctx)
    permission = await session.access.permission(call.ctx)
    allowed = permission.effective
    if allowed.is_empty:
        return [], permission  # nothing to ask the service about
    listed = [each for each in await session.upstream.list_notebooks(call.ctx) if each.id in allowed]
    entries = [Entry(notebook.id, notebook) for notebook in listed]
    absent = allowed.ids - {notebook.id for notebook in listed}
    return entries + [Entry(notebook_id, None) for notebook_id in absent], permission


async def handle(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    session = call.session
    entries, permission = await allowed_notebooks(call)
    page = paginate(
        entries,
        lambda entry: entry.key,
        Entry.as_row,
        tool=TOOL.name,
        scope="",
        cursor=arguments.cursor,
        page_size=arguments.page_size,
        max_chars=MAX_LIST_CHARS,
    )
    project = await trio.to_thread.run_sync((await session.project()).read_untrusted)
    return {
        "user_prompt": _user_prompt(session, entries, permission, project),
        "session": _session_row(session),
        "project_config": _project_row(project, permission),
        **page.as_json("notebooks"),
        "content_note": CONTENT_NOTE,
    }


def _session_row(session: Session) -> Row:
    locked = session.lock.notebook
    if locked is None:
        return {"state": str(session.lock.state)}
    return {"state": str(session.lock.state), "notebook_id": locked.id, "notebook_title": locked.title}


def _project_row(project: Proposal | Ignored | None, permission: Permission) -> Row:
    match project:
        case None:
            return {"status": "none"}
        case Ignored(reason):
            return {"status": "ignored", "reason": f"project file ignored: {reason}"}
        case Proposal(notebook_id, title):
            allowed = notebook_id in permission.effective
            return {"status": "proposed", "notebook_id": notebook_id, "title": title, "allowed": allowed}


def _user_prompt(
    session: Session, entries: list[Entry], permission: Permission, project: Proposal | Ignored | None
) -> str:
    """Say what to do now. Built from our own sentences only: no title and no text of a project file gets in here."""
    if session.lock.notebook is not None:
        return (
            "This session is already locked to the notebook under `session`. Tell the person so; another notebook "
            "needs a new session."
        )
    if not entries:
        side = "the extension's own list does not" if permission.denied_by_extension else "allowlist.json does not"
        return (
            f"No notebook is allowed yet ({side} name any). {HOW_TO_ALLOW} Ask the person to do that, then call again."
        )
    sentences = ["Ask the person which of these notebooks to use in this chat, then call select_notebook."]
    if isinstance(project, Proposal) and project.notebook_id in permission.effective:
        sentences.insert(0, f"The project proposes notebook {project.notebook_id}: ask the person to confirm it.")
    if permission.denied_by_extension:
        sentences.append(
            f"{len(permission.denied_by_extension)} notebook(s) in allowlist.json are not allowed in the extension's "
            "own list and are not shown."
        )
    return " ".join(sentences)


TOOL: Final = Tool(
    name="list_notebooks",
    title="List allowed notebooks",
    description=(
        "Lists the notebooks the person allows, what this session is locked to, and the notebook that the project "
        "proposes (project_config). Works in every state. Call it first in each chat, follow user_prompt, and let the "
        "person confirm a notebook before select_notebook. Notebooks that are not allowed are invisible."
    ),
    hints=Hints(read_only=True, destructive=False, idempotent=True),
    input_schema=INPUT_SCHEMA,
    result_schema=RESULT_SCHEMA,
    arguments=Arguments,
    handler=handle,
)
