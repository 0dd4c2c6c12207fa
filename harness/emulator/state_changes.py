"""``GET /state`` and ``POST /state``: the state as JSON, and the closed table of changes that a test may make to it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from harness.emulator.hosts import NOTEBOOK_HOSTS
from harness.emulator.model import Notebook, Source, SourceState, SourceType
from harness.emulator.state import ServiceState, now
from harness.emulator.wire_json import Json


class BadChange(ValueError):
    """A change that cannot be meant; the text says which field and what it may be."""


def describe_state(state: ServiceState) -> dict[str, Json]:
    """Return accounts, notebooks with their sources and notes, conversations and options as they are now."""
    return {
        "accounts": [{"index": index, "email": account.email} for index, account in enumerate(state.accounts)],
        "notebooks": [_describe_notebook(notebook) for notebook in state.notebooks],
        "conversations": [
            {"id": talk.id, "account": talk.email, "notebook": talk.notebook_id, "turns": len(talk.turns)}
            for talk in state.conversations
        ],
        "sessions": [list(session.emails) for session in state.sessions.values()],
        "options": {
            "signed_out_page": state.options.signed_out_page,
            "host_redirects": {email: dict(hosts) for email, hosts in state.options.host_redirects.items()},
            "chunk_delay_ms": state.options.chunk_delay_ms,
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
        "notes": [{"id": note.id, "title": note.title, "text": note.text} for note in notebook.notes],
    }


def _describe_source(source: Source) -> Json:
    return {
        "id": source.id,
        "title": source.title,
        "type": int(source.type),
        "state": int(source.state),
        "revision": source.revision_id,
        "url": source.url,
        "text": source.document.text,
    }


Action: TypeAlias = Callable[[], None]
Change: TypeAlias = Callable[[ServiceState, Json], Action]
"""Checks what is asked and returns what has to be done; nothing happens before all of a request has been checked."""


def _signed_out_page(state: ServiceState, value: Json) -> Action:
    if value not in ("redirect", "bare"):
        raise BadChange(f"signed_out_page must be 'redirect' or 'bare', not {value!r}")
    return partial(setattr, state.options, "signed_out_page", value)


def _host_redirects(state: ServiceState, value: Json) -> Action:
    redirects: dict[str, dict[str, str]] = {}
    for email, hosts in _object(value, "host_redirects").items():
        redirects[_account(state, email)] = {}
        for asked, used in _object(hosts, f"host_redirects[{email}]").items():
            if asked not in NOTEBOOK_HOSTS or used not in NOTEBOOK_HOSTS or asked == used:
                raise BadChange(f"host_redirects leads from one notebook host to another, not {asked!r} to {used!r}")
            redirects[email][asked] = used
    return partial(setattr, state.options, "host_redirects", redirects)


def _chunk_delay(state: ServiceState, value: Json) -> Action:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3_600_000:
        raise BadChange(f"chunk_delay_ms must be a number from 0 to 3600000, not {value!r}")
    return partial(setattr, state.options, "chunk_delay_ms", float(value))


def _rotate_tokens(state: ServiceState, value: Json) -> Action:
    if value is not True:
        raise BadChange("rotate_tokens must be true: every page then holds stale tokens until it is loaded again")
    return state.rotate_tokens


def _signed_in(state: ServiceState, value: Json) -> Action:
    if not isinstance(value, list):
        raise BadChange(f"signed_in must be a list of e-mail addresses, not {value!r}")
    emails = [_account(state, email) for email in value]
    if len(set(emails)) != len(emails):
        raise BadChange("signed_in names an account twice")
    return partial(state.sign_all_sessions_in, emails)


def _source_states(state: ServiceState, value: Json) -> Action:
    changes = [
        (_source(state, source_id), _source_state(number, f"source_states[{source_id}]"))
        for source_id, number in _object(value, "source_states").items()
    ]

    def act() -> None:
        for source, wanted in changes:
            state.set_source_state(source, wanted)

    return act


def _add_sources(state: ServiceState, value: Json) -> Action:
    """Each: ``{"notebook", "title", "text"?, "id"?, "position"?, "state"?}``."""
    if not isinstance(value, list):
        raise BadChange("add_sources must be a list of objects")
    additions = [_addition(state, _object(entry, "add_sources[]")) for entry in value]

    def act() -> None:
        for notebook, source, position in additions:
            state.insert_source(notebook, source, position)

    return act


def _addition(state: ServiceState, fields: dict[str, Json]) -> tuple[Notebook, Source, int | None]:
    if unknown := set(fields) - {"notebook", "title", "text", "id", "position", "state"}:
        raise BadChange(f"add_sources[] has no {', '.join(sorted(unknown))}")
    title, text, position = fields.get("title"), fields.get("text", ""), fields.get("position")
    source_id = fields.get("id", str(uuid.uuid4()))
    if not isinstance(title, str) or not isinstance(text, str) or not isinstance(source_id, str):
        raise BadChange("add_sources[] needs a text `title`, and `text` and `id` are texts")
    if any(source.id == source_id for source in state.sources()):
        raise BadChange(f"there is a source {source_id!r} already")
    if position is not None and (isinstance(position, bool) or not isinstance(position, int) or position < 0):
        raise BadChange(f"position must be a whole number from 0 or null, not {position!r}")
    wanted = _source_state(fields.get("state", int(SourceState.READY)), "state")
    source = Source(source_id, title, text, SourceType.TEXT, wanted, now(), str(uuid.uuid4()), now())
    return _notebook(state, fields.get("notebook")), source, position


def _remove_sources(state: ServiceState, value: Json) -> Action:
    if not isinstance(value, list):
        raise BadChange("remove_sources must be a list of source ids")
    sources = [_source(state, source_id) for source_id in value]

    def act() -> None:
        for source in sources:
            state.remove_source(source.id)

    return act


def _titles(state: ServiceState, value: Json) -> Action:
    renamings: list[tuple[Notebook, str]] = []
    for notebook_id, title in _object(value, "titles").items():
        if not isinstance(title, str):
            raise BadChange(f"titles[{notebook_id}] must be a text")
        renamings.append((_notebook(state, notebook_id), title))

    def act() -> None:
        for notebook, title in renamings:
            notebook.title = title

    return act


CHANGES: Final[dict[str, Change]] = {
    "signed_out_page": _signed_out_page,
    "host_redirects": _host_redirects,
    "chunk_delay_ms": _chunk_delay,
    "rotate_tokens": _rotate_tokens,
    "signed_in": _signed_in,
    "source_states": _source_states,
    "add_sources": _add_sources,
    "remove_sources": _remove_sources,
    "titles": _titles,
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


def _source_state(value: Json, name: str) -> SourceState:
    if isinstance(value, bool) or not isinstance(value, int) or value not in list(SourceState):
        raise BadChange(f"{name} must be one of {[int(item) for item in SourceState]}, not {value!r}")
    return SourceState(value)


def _object(value: Json, name: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadChange(f"{name} must be an object, not {value!r}")
    return value


def _account(state: ServiceState, email: Json) -> str:
    for account in state.accounts:
        if account.email == email:
            return account.email
    raise BadChange(f"no account {email!r}; there are {', '.join(account.email for account in state.accounts)}")


def _notebook(state: ServiceState, notebook_id: Json) -> Notebook:
    for notebook in state.notebooks:
        if notebook.id == notebook_id:
            return notebook
    raise BadChange(f"no notebook {notebook_id!r}")


def _source(state: ServiceState, source_id: Json) -> Source:
    for source in state.sources():
        if source.id == source_id:
            return source
    raise BadChange(f"no source {source_id!r}")
