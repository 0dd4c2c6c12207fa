"""Checks of what ``POST /state`` is asked to change; each says what the value may be. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from harness.emulator.model import Notebook, Source, SourceState
from harness.emulator.state import ServiceState
from harness.emulator.wire_json import Json


class BadChange(ValueError):
    """A change that cannot be meant; the text says which field and what it may be."""


Action: TypeAlias = Callable[[], None]
Change: TypeAlias = Callable[[ServiceState, Json], Action]
"""Checks what is asked and returns what has to be done; nothing happens before all of a request has been checked."""


def source_state_at(value: Json, name: str) -> SourceState:
    if isinstance(value, bool) or not isinstance(value, int) or value not in list(SourceState):
        raise BadChange(f"{name} must be one of {[int(item) for item in SourceState]}, not {value!r}")
    return SourceState(value)


def items_at(value: Json, name: str) -> list[dict[str, Json]]:
    """Return a list of objects."""
    if not isinstance(value, list):
        raise BadChange(f"{name} must be a list of objects")
    return [object_at(entry, f"{name}[]") for entry in value]


def only_fields(fields: dict[str, Json], name: str, *known: str) -> None:
    """Refuse a field that nobody knows, so that a misspelt one is not taken for a default."""
    if unknown := set(fields) - set(known):
        raise BadChange(f"{name} has no {', '.join(sorted(unknown))}")


def object_at(value: Json, name: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadChange(f"{name} must be an object, not {value!r}")
    return value


def account_at(state: ServiceState, email: Json) -> str:
    for account in state.accounts:
        if account.email == email:
            return account.email
    raise BadChange(f"no account {email!r}; there are {', '.join(account.email for account in state.accounts)}")


def notebook_at(state: ServiceState, notebook_id: Json) -> Notebook:
    for notebook in state.notebooks:
        if notebook.id == notebook_id:
            return notebook
    raise BadChange(f"no notebook {notebook_id!r}")


def source_at(state: ServiceState, source_id: Json) -> Source:
    for source in state.sources():
        if source.id == source_id:
            return source
    raise BadChange(f"no source {source_id!r}")
