"""What a person's verdict on a write stores: the very facts its tool would have answered with.

A repeat of the key then gets them as a replay, so they obey the tool's published schema, which is closed. Pure.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from broker.errors import CallCancelled, InvalidArgument
from broker.journal_rows import Json, MutationRecord
from broker.journal_states import TRANSITIONS, Event, State

REMOTE_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id as the service writes it."""


@frozen
class Verdict:
    """What `JournalStore.settle` takes. `claim` is the remote id that becomes this write's own."""

    event: Event
    outcome: Json
    claim: str | None = None


@frozen
class _Done:
    status: str
    id_field: str
    id_steps: tuple[str, ...]
    """The steps that can know the id, in this order."""
    is_creation: bool


_DONE: Final = {
    "create_note": _Done("created", "note_id", ("create",), is_creation=True),
    "add_source": _Done("added", "source_id", ("add", "register"), is_creation=True),
    "delete_note": _Done("deleted", "note_id", ("delete",), is_creation=False),
}


def maybe_remote_id(record: MutationRecord) -> str | None:
    """Return the id of what the write made or changed, where a step knows it."""
    done = _DONE.get(record.tool)
    names = done.id_steps if done is not None else ()
    known = (step.remote_id for name in names if (step := record.maybe_step(name)) is not None)
    return next(filter(None, known), None)


def settled_as_done(record: MutationRecord, given_id: str | None) -> Verdict:
    """Return the verdict that the write took effect, on the thing that a step knows, else on `given_id`.

    Raises:
        InvalidArgument: a row in its state cannot be settled so; or the id is missing, malformed, another one than the
            proven one, or of something older.
    """
    _require_open(record, Event.SETTLE_DONE)
    done = _DONE.get(record.tool)
    if done is None:
        raise InvalidArgument(f"Row {record.id} is of {record.tool}, which this build does not know.")
    known = maybe_remote_id(record)
    if given_id is not None:
        given_id = given_id.strip().lower()
        if not REMOTE_ID.fullmatch(given_id):
            raise InvalidArgument(
                f"{given_id!r} is not an id of the service.", hint="Ids look like 1a9e7e00-0001-4a00-8b00-000000000001."
            )
        if known not in (None, given_id):
            raise InvalidArgument(f"Row {record.id} is about {known}, not about {given_id}; leave the id out.")
        if done.is_creation and any(given_id in step.before for step in record.steps):
            raise InvalidArgument(f"{given_id} was in the notebook before this write, so this write did not make it.")
    remote_id = known or given_id
    if remote_id is None:
        raise InvalidArgument(
            f"Nothing in row {record.id} says which {done.id_field} it made.",
            hint=f"Find the id with {'list_notes' if done.id_field == 'note_id' else 'list_sources'} and give it "
            "with --remote-id.",
        )
    outcome: Json = {"status": done.status, done.id_field: remote_id}
    return Verdict(Event.SETTLE_DONE, outcome, remote_id if done.is_creation else None)


def settled_as_not_done(record: MutationRecord) -> Verdict:
    """Return the verdict that the write had no effect, or not the whole of it.

    Raises:
        InvalidArgument: a row in its state cannot be settled so.
    """
    _require_open(record, Event.SETTLE_NOT_DONE)
    known = maybe_remote_id(record)
    what = "Nothing was written."
    if known is not None and record.claims:
        what = f"{known} was made before, and stays if nobody has deleted it."
    error = CallCancelled(
        f"The person settled this {record.tool} as not done. {what}",
        hint="A new try needs a new idempotency_key.",
        details={"mutation": "rejected", "settled_by": "person"},
    )
    return Verdict(Event.SETTLE_NOT_DONE, error.as_error())


def _require_open(record: MutationRecord, event: Event) -> None:
    # Settling a row whose process died while a request was out loses it first; that a process lives is seen there.
    state = State.UNKNOWN if record.state is State.SENT else record.state
    if event in TRANSITIONS[state]:
        return
    if record.is_settled:
        raise InvalidArgument(
            f"Row {record.id} is {record.state} already, and that is final.", hint="A new write needs a new key."
        )
    raise InvalidArgument(
        f"Row {record.id} is {record.state}: nothing of it was sent, so it cannot be done.",
        hint="Settle it as not-done, or let the agent repeat the call with the same key.",
    )
