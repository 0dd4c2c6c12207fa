"""What the journal knows of a write, as values, and how they stand in its tables. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any, Final, cast

import orjson
from attrs import field, frozen

from broker.journal_states import SETTLED, State

Json = dict[str, object]

COLUMNS: Final = (
    "id, account, tool, key, notebook_id, state, owner, result, error, traceparent, created_at_ms, updated_at_ms"
)
"""Of table `mutations`, in the order that `record_from` takes."""


@frozen
class Request:
    """One write as the agent asked for it. (`account`, `tool`, `key`) names it for ever.

    `payload_hash` covers everything that decides what is written, the notebook included. `fingerprint` covers only what
    a later look at the notebook can see of it: two unsettled writes that share it cannot be told apart there.
    """

    account: str
    tool: str
    key: str = field(repr=False)
    notebook_id: str
    payload_hash: str
    fingerprint: str = field(repr=False)
    traceparent: str = field(repr=False)


@frozen
class StepRecord:
    """One request of a write. Its state is SENT or CONFIRMED; `facts` is what is needed to go on from there."""

    name: str
    state: State
    facts: Json

    @property
    def remote_id(self) -> str:
        """The id that the service gave; empty while that is not known."""
        return str(self.facts.get("remote_id", ""))

    @property
    def before(self) -> frozenset[str]:
        """The ids that were in the notebook before the request left; empty once the write is settled."""
        return frozenset(map(str, cast("list[object]", self.facts.get("before") or [])))


@frozen
class MutationRecord:
    """One row with its steps. Times are milliseconds since the epoch."""

    id: int
    account: str
    tool: str
    key: str
    notebook_id: str
    state: State
    owner: str
    result: Json | None
    error: Json | None
    traceparent: str
    created_at_ms: int
    updated_at_ms: int
    steps: tuple[StepRecord, ...]
    claims: tuple[str, ...]

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED

    def maybe_step(self, name: str) -> StepRecord | None:
        return next((step for step in self.steps if step.name == name), None)


class Found(Enum):
    """What a request meets in the journal."""

    OURS = auto()
    """The row is ours to carry out, from the start or from its last proven step."""
    SETTLED = auto()
    """It is over; its stored outcome is the answer."""
    ELSEWHERE = auto()
    """Another living broker carries it out."""
    OTHER_PAYLOAD = auto()
    """The key was used for something else."""


@frozen
class Begun:
    """The journal's answer to a request."""

    found: Found
    record: MutationRecord


def payload_hash(notebook_id: str, payload: Mapping[str, object]) -> str:
    """Return the SHA-256 (hex) of a write's payload in one spelling."""
    text = orjson.dumps([notebook_id, payload], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()


def fingerprint(kind: str, *visible: str) -> str:
    """Return a short digest of what a read-back sees; the journal file then holds no content of the person's."""
    return hashlib.sha256(orjson.dumps([kind, *visible])).hexdigest()[:32]


def record_from(
    row: tuple[Any, ...], steps: Iterable[tuple[Any, ...]], claims: Iterable[tuple[Any, ...]]
) -> MutationRecord:
    """Build a record from a row of `COLUMNS`, its steps (name, state, facts) and its claims (remote id)."""
    number, account, tool, key, notebook_id, state, owner, result, error, traceparent, created_at_ms, updated_at_ms = (
        row
    )
    return MutationRecord(
        id=number,
        account=account,
        tool=tool,
        key=key,
        notebook_id=notebook_id,
        state=State(state),
        owner=owner,
        result=None if result is None else _from_json(result),
        error=None if error is None else _from_json(error),
        traceparent=traceparent,
        created_at_ms=created_at_ms,
        updated_at_ms=updated_at_ms,
        steps=tuple(StepRecord(name, State(step_state), _from_json(facts)) for name, step_state, facts in steps),
        claims=tuple(remote_id for (remote_id,) in claims),
    )


def to_json(value: Json) -> str:
    """Return the text that stands in a column."""
    return orjson.dumps(value).decode()


def _from_json(text: str) -> Json:
    return cast("Json", orjson.loads(text))
