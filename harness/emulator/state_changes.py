"""``GET /state`` and ``POST /state``: the state as JSON, and the closed table of changes that a test may make to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from harness.emulator.change_checks import Action, BadChange, Change, account_at, notebook_at, object_at
from harness.emulator.content_changes import CONTENT_CHANGES
from harness.emulator.gates import Gate
from harness.emulator.hosts import NOTEBOOK_HOSTS
from harness.emulator.model import Note, Notebook, Source
from harness.emulator.state import ServiceState
from harness.emulator.uploads import UploadStatus
from harness.emulator.wire_json import Json

__all__ = ["CHANGES", "BadChange", "apply_changes", "describe_state"]


def describe_state(state: ServiceState) -> dict[str, Json]:
    """Return accounts, notebooks with their sources and notes, conversations and options as they are now."""
    state.advance()
    return {
        "accounts": [{"index": index, "email": account.email} for index, account in enumerate(state.accounts)],
        "notebooks": [_describe_notebook(notebook) for notebook in state.notebooks],
        "conversations": [
            {"id": talk.id, "account": talk.email, "notebook": talk.notebook_id, "turns": len(talk.turns)}
            for talk in state.conversations
        ],
        "uploads": [upload.describe() for upload in state.uploads.values()],
        "sessions": [list(session.emails) for session in state.sessions.values()],
        "options": {
            "signed_out_page": state.options.signed_out_page,
            "host_redirects": {email: dict(hosts) for email, hosts in state.options.host_redirects.items()},
            "chunk_delay_ms": state.options.chunk_delay_ms,
            "gate": state.options.gate,
        },
    }


def _describe_notebook(notebook: Notebook) -> Json:
    return {
        "id": notebook.id,
        "title": notebook.title,
        "emoji": notebook.emoji,
        "owner": notebook.owner,
        "shared_with": {email: int(role) for email, role in notebook.shared_with.items()},
        "sources": [_describe_source(source) for source in notebook.sources],
        "notes": [_describe_note(note) for note in notebook.notes],
        "source_limit": notebook.source_limit,
    }


def _describe_note(note: Note) -> Json:
    mapped: list[Json] = list(note.mapped_sources)
    return {
        "id": note.id,
        "title": note.title,
        "text": note.text,
        "kind": int(note.kind),
        "mapped_sources": mapped,
        "deleted": note.deleted,
    }


def _describe_source(source: Source) -> Json:
    return {
        "id": source.id,
        "title": source.title,
        "type": int(source.type),
        "state": int(source.state),
        "revision": source.revision_id,
        "url": source.url,
        "drive_id": None if source.drive is None else source.drive.id,
        "awaits_bytes": source.awaits_bytes is not None,
        "text": source.document.text,
    }


def _signed_out_page(state: ServiceState, value: Json) -> Action:
    if value not in ("redirect", "bare"):
        raise BadChange(f"signed_out_page must be 'redirect' or 'bare', not {value!r}")
    return partial(setattr, state.options, "signed_out_page", value)


def _host_redirects(state: ServiceState, value: Json) -> Action:
    redirects: dict[str, dict[str, str]] = {}
    for email, hosts in object_at(value, "host_redirects").items():
        redirects[account_at(state, email)] = {}
        for asked, used in object_at(hosts, f"host_redirects[{email}]").items():
            if asked not in NOTEBOOK_HOSTS or used not in NOTEBOOK_HOSTS or asked == used:
                raise BadChange(f"host_redirects leads from one notebook host to another, not {asked!r} to {used!r}")
            redirects[email][asked] = used
    return partial(setattr, state.options, "host_redirects", redirects)


def _chunk_delay(state: ServiceState, value: Json) -> Action:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3_600_000:
        raise BadChange(f"chunk_delay_ms must be a number from 0 to 3600000, not {value!r}")
    return partial(setattr, state.options, "chunk_delay_ms", float(value))


def _gate(state: ServiceState, value: Json) -> Action:
    if value not in list(Gate):
        raise BadChange(f"gate must be one of {', '.join(Gate)}, not {value!r}")
    return partial(setattr, state.options, "gate", value)


def _rotate_tokens(state: ServiceState, value: Json) -> Action:
    if value is not True:
        raise BadChange("rotate_tokens must be true: every page then holds stale tokens until it is loaded again")
    return state.rotate_tokens


def _expire_uploads(state: ServiceState, value: Json) -> Action:
    if value is not True:
        raise BadChange("expire_uploads must be true: every upload session that is not over is then unknown")

    def act() -> None:
        for upload in state.uploads.values():
            if upload.status is UploadStatus.ACTIVE:
                upload.status = UploadStatus.EXPIRED

    return act


def _signed_in(state: ServiceState, value: Json) -> Action:
    if not isinstance(value, list):
        raise BadChange(f"signed_in must be a list of e-mail addresses, not {value!r}")
    emails = [account_at(state, email) for email in value]
    if len(set(emails)) != len(emails):
        raise BadChange("signed_in names an account twice")
    return partial(state.sign_all_sessions_in, emails)


def _titles(state: ServiceState, value: Json) -> Action:
    renamings: list[tuple[Notebook, str]] = []
    for notebook_id, title in object_at(value, "titles").items():
        if not isinstance(title, str):
            raise BadChange(f"titles[{notebook_id}] must be a text")
        renamings.append((notebook_at(state, notebook_id), title))

    def act() -> None:
        for notebook, title in renamings:
            notebook.title = title

    return act


CHANGES: Final[dict[str, Change]] = {
    "signed_out_page": _signed_out_page,
    "host_redirects": _host_redirects,
    "chunk_delay_ms": _chunk_delay,
    "gate": _gate,
    "rotate_tokens": _rotate_tokens,
    "signed_in": _signed_in,
    "expire_uploads": _expire_uploads,
    "titles": _titles,
    **CONTENT_CHANGES,
}


def apply_changes(state: ServiceState, changes: Mapping[str, Json]) -> None:
    """Make all the changes, in the order in which they are written, or none.

    Raises:
        BadChange: one is unknown or of the wrong kind.
    """
    for name in changes:
        if name not in CHANGES:
            raise BadChange(f"{name} cannot be changed; these can: {', '.join(CHANGES)}")
    for act in [CHANGES[name](state, value) for name, value in changes.items()]:
        act()
