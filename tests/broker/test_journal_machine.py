"""Several brokers on one journal, any of which may die, against a naive model of it (ADR-005).

The model is a dict. A broker only works on rows that it began and has not ended since, as `broker.mutations` does.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
from attrs import define, field
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.errors import InvalidArgument
from broker.journal_faults import ClaimTaken
from broker.journal_rows import Found, MutationRecord
from broker.journal_states import TRANSITIONS, Event, State, WrongTransition
from broker.journal_store import JournalStore
from tests.broker.mutation_helpers import request

KEYS = [f"key-{number}" for number in range(4)]
NAMES = ["n", "other"]
REMOTE_IDS = [f"id-{number}" for number in range(2)]
BROKERS = range(3)
STEPS = ["create", "fill"]

keys = st.sampled_from(KEYS)
names = st.sampled_from(NAMES)
remote_ids = st.sampled_from(REMOTE_IDS)
brokers = st.sampled_from(BROKERS)
picks = st.integers(0, len(KEYS) - 1)
"""Which of the rows that some broker works on; taken modulo their number."""


@define
class Row:
    """What the model knows of a write. `owner` is empty when nobody works on it."""

    id: int
    name: str
    owner: str
    state: State = State.PREPARED
    steps: dict[str, State] = field(factory=dict[str, State])
    claims: set[str] = field(factory=set[str])
    frozen: MutationRecord | None = None
    """The whole record as it was when it was settled."""

    @property
    def next_step(self) -> str | None:
        return next((step for step in STEPS if self.steps.get(step) is not State.CONFIRMED), None)


class JournalMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.sqlite"
        self.alive: set[str] = set()
        self.generation = 0
        self.owners: dict[int, str] = {}
        self.stores: dict[int, JournalStore] = {}
        for broker in BROKERS:
            self.start(broker)
        self.person = JournalStore(self.path, "", self.is_alive)
        self.rows: dict[str, Row] = {}
        self.lease: tuple[str, str] | None = None
        """Key of its write, and its owner."""

    def start(self, broker: int) -> None:
        self.generation += 1
        owner = f"broker-{broker}-{self.generation}"
        self.owners[broker] = owner
        self.alive.add(owner)
        self.stores[broker] = JournalStore(self.path, owner, self.is_alive)

    def is_alive(self, owner: str) -> bool:
        return owner in self.alive

    def teardown(self) -> None:
        for store in (*self.stores.values(), self.person):
            store.close()
        self.folder.cleanup()

    # ------------------------------------------------------------------------------------------------ helpers
    def owned(self) -> list[tuple[int, str]]:
        """Which living broker works on which row."""
        brokers_by_owner = {owner: broker for broker, owner in self.owners.items()}
        return [(brokers_by_owner[row.owner], key) for key, row in self.rows.items() if row.owner in brokers_by_owner]

    def picked(self, pick: int) -> tuple[JournalStore, str, Row]:
        broker, key = self.owned()[pick % len(self.owned())]
        return self.stores[broker], key, self.rows[key]

    def move(self, row: Row, event: Event, act: Callable[[], MutationRecord]) -> MutationRecord | None:
        """Act, and expect what the table says; None when it says no."""
        following = TRANSITIONS[row.state].get(event)
        if following is None:
            try:
                act()
            except WrongTransition:
                return None
            raise AssertionError(f"{event} in {row.state} was let through")
        record = act()
        row.state = following
        return record

    def end_lease_of(self, key: str) -> None:
        if self.lease is not None and self.lease[0] == key:
            self.lease = None

    def end(self, key: str, event: Event, act: Callable[[], MutationRecord]) -> None:
        """Act on an event that leaves the row to nobody."""
        row = self.rows[key]
        record = self.move(row, event, act)
        if record is not None:
            row.owner = ""
            self.end_lease_of(key)
            if record.is_settled:
                row.frozen = record

    # ------------------------------------------------------------------------------------------------ brokers
    @rule(broker=brokers, key=keys, name=names)
    def begin(self, broker: int, key: str, name: str) -> None:
        begun = self.stores[broker].begin(request(key, name=name))
        row = self.rows.get(key)
        if row is None:
            assert begun.found is Found.OURS
            self.rows[key] = Row(begun.record.id, name, self.owners[broker])
        elif row.name != name:
            assert begun.found is Found.OTHER_PAYLOAD
        elif row.frozen is not None:
            assert (begun.found, begun.record) == (Found.SETTLED, row.frozen)
        elif row.owner in self.alive and row.owner != self.owners[broker]:
            assert begun.found is Found.ELSEWHERE
        else:
            assert begun.found is Found.OURS
            row.owner = self.owners[broker]
            if row.state is State.SENT:
                row.state = State.UNKNOWN

    @precondition(owned)
    @rule(pick=picks)
    def take_lease(self, pick: int) -> None:
        store, key, row = self.picked(pick)
        is_free = self.lease is None or self.lease[1] == row.owner or self.lease[1] not in self.alive
        assert store.try_lease(row.id, "thing") == is_free
        if is_free:
            self.lease = (key, row.owner)

    @precondition(owned)
    @rule(pick=picks)
    def send(self, pick: int) -> None:
        store, _, row = self.picked(pick)
        step = row.next_step
        if step is None:
            return
        if self.move(row, Event.SEND, lambda: store.mark_sent(row.id, step, {"before": ["old"]})) is not None:
            row.steps[step] = State.SENT

    @precondition(owned)
    @rule(pick=picks)
    def take_back(self, pick: int) -> None:
        store, key, row = self.picked(pick)
        if row.steps != {"create": State.SENT}:
            return
        if self.move(row, Event.TAKE_BACK, lambda: store.take_back(row.id, "create")) is not None:
            row.steps = {}
            self.end_lease_of(key)

    @precondition(owned)
    @rule(pick=picks, remote_id=remote_ids)
    def prove(self, pick: int, remote_id: str) -> None:
        store, key, row = self.picked(pick)
        step = row.next_step
        if step is None or step not in row.steps:
            return
        claim = remote_id if step == "create" else None
        try:
            store.prove_step(row.id, step, {"remote_id": remote_id}, claim)
        except ClaimTaken:
            assert claim in self.claimed()
            return
        assert claim not in self.claimed()
        row.steps[step] = State.CONFIRMED
        row.claims |= {claim} if claim else set()
        self.end_lease_of(key)

    def claimed(self) -> set[str]:
        return {claim for row in self.rows.values() for claim in row.claims}

    @precondition(owned)
    @rule(pick=picks, ending=st.sampled_from(["confirm", "reject", "lose"]))
    def end_somehow(self, pick: int, ending: str) -> None:
        store, key, row = self.picked(pick)
        match ending:
            case "confirm":
                self.end(key, Event.CONFIRM, lambda: store.confirm(row.id, {"made": key}))
            case "reject":
                self.end(key, Event.REJECT, lambda: store.reject(row.id, {"code": "RATE_LIMITED"}))
            case _:
                self.end(key, Event.LOSE, lambda: store.lose(row.id, {"code": "MUTATION_UNKNOWN"}))

    @precondition(owned)
    @rule(pick=picks)
    def let_go(self, pick: int) -> None:
        store, key, row = self.picked(pick)
        if row.state is State.PREPARED:
            store.let_go(row.id)
            row.owner = ""
            self.end_lease_of(key)

    @rule(broker=brokers)
    def die_and_start_anew(self, broker: int) -> None:
        self.stores[broker].close()
        self.alive.remove(self.owners[broker])
        self.start(broker)

    # ------------------------------------------------------------------------------------------------ the person
    @rule(key=keys, is_done=st.booleans(), remote_id=st.none() | remote_ids)
    def settle(self, key: str, is_done: bool, remote_id: str | None) -> None:
        row = self.rows.get(key)
        if row is None:
            return
        event = Event.SETTLE_DONE if is_done else Event.SETTLE_NOT_DONE
        outcome: dict[str, object] = {"settled": key}
        before = self.person.maybe_record(row.id)
        try:
            record = self.person.settle(row.id, event, outcome, remote_id if is_done else None)
        except InvalidArgument:
            assert row.owner in self.alive
        except ClaimTaken:
            assert is_done
            assert remote_id in self.claimed() - row.claims
        except WrongTransition:
            assert event not in TRANSITIONS[State.UNKNOWN if row.state is State.SENT else row.state]
        else:
            assert row.owner not in self.alive
            row.state = State.CONFIRMED if is_done else State.REJECTED
            row.claims |= {remote_id} if is_done and remote_id else set()
            row.owner, row.frozen = "", record
            self.end_lease_of(key)
            return
        assert self.person.maybe_record(row.id) == before

    @precondition(lambda self: self.rows)
    @rule()
    def forget_what_is_old(self) -> None:
        settled = {key for key, row in self.rows.items() if row.frozen is not None}
        newest_ms = max(record.updated_at_ms for record in self.person.records())
        assert self.person.prune(newest_ms) == 0
        assert self.person.prune(newest_ms + 100 * 24 * 3600 * 1000) == len(settled)
        for key in settled:
            del self.rows[key]

    # ------------------------------------------------------------------------------------------------ what must hold
    @invariant()
    def every_row_is_as_the_model_has_it(self) -> None:
        records = self.person.records()
        assert sorted(record.key for record in records) == sorted(self.rows)  # one row per key
        for record in records:
            row = self.rows[record.key]
            assert (record.id, record.state, record.owner) == (row.id, row.state, row.owner)
            assert {step.name: step.state for step in record.steps} == row.steps
            assert set(record.claims) == row.claims

    @invariant()
    def settled_rows_never_change(self) -> None:
        for row in self.rows.values():
            if row.frozen is not None:
                assert self.person.maybe_record(row.id) == row.frozen

    @invariant()
    def a_remote_id_belongs_to_one_row(self) -> None:
        claims = [claim for row in self.rows.values() for claim in row.claims]
        assert len(claims) == len(set(claims))
        assert self.person.claimed_among("ada@example.com", REMOTE_IDS) == set(claims)

    @invariant()
    def one_write_at_most_has_the_lease(self) -> None:
        connection = sqlite3.connect(self.path)
        held = connection.execute("SELECT key, leases.owner FROM leases JOIN mutations ON id = mutation_id").fetchall()
        connection.close()
        assert held == ([self.lease] if self.lease is not None else [])

    @invariant()
    def rivals_are_counted_right(self) -> None:
        open_rows = [row for row in self.rows.values() if row.state in (State.SENT, State.UNKNOWN)]
        for row in self.rows.values():
            expected = sum(
                other.id != row.id and other.name == row.name and other.steps.get("create") is State.SENT
                for other in open_rows
            )
            assert self.person.rivals(row.id, "create") == expected


TestJournalMachine = JournalMachine.TestCase
TestJournalMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
