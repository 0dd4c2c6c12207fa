"""Agents, brokers that die, a browser that loses answers and a person who meddles, against a naive model (ADR-005).

The model is what a person would say: one key, one item; what was said to be done is there; what was said once stays.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

import hypothesis.strategies as st
import pytest
import trio
from attrs import frozen
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker.backoff import Backoff
from broker.journal_rows import Json, MutationRecord
from broker.journal_states import State
from broker.journal_store import JournalStore
from harness.emulator.model import Note, Source, SourceState, SourceType
from harness.emulator.state import now
from tests.broker.trio_between_rules import PausedTrio
from tests.broker.write_world import CREATING, DELETING, SLOW_S, Broker, Fate, World

NOTE = {"title": "Tides", "content": "High water at *six*."}
TEXT = {"source": {"type": "text", "title": "Log", "content": "Calm."}}
PAGE = {"source": {"type": "url", "url": "https://example.com/a"}}
WRITES: dict[str, tuple[str, Json]] = {
    "note 1": ("create_note", NOTE),
    "note 2": ("create_note", NOTE),
    "note 3": ("create_note", {"title": "Ebb", "content": "Low water at noon."}),
    "text 1": ("add_source", TEXT),
    "text 2": ("add_source", TEXT),
    "page 1": ("add_source", PAGE),
    "page 2": ("add_source", PAGE),
}
"""Key → tool and arguments. Several keys write the same, as an agent that invents a new key for a retry does."""
DELETIONS = ("deletion 1", "deletion 2")
BROKERS = range(2)
FOR_GOOD_S = 1000.0

keys = st.sampled_from([*WRITES, *DELETIONS])
kinds = st.sampled_from(["note", "text", "page"])
brokers = st.sampled_from(BROKERS)
picks = st.integers(0, 20)
"""Which of the items; taken modulo their number."""
fates = st.lists(st.sampled_from([Fate.DONE, Fate.LOST, Fate.LATE, *Fate]), max_size=3)
fates_of_two = st.permutations([Fate.LATE, Fate.LOST]) | fates
"""What lands late while its twin is lost tempts one to take it for the other."""
reads = st.lists(st.booleans(), max_size=8)
lives = st.none() | st.integers(0, 25)
leaves = st.sampled_from([FOR_GOOD_S, FOR_GOOD_S, 0.0, 0.05, 5.0])


@frozen
class Call:
    """What the model keeps of an answer that said something for good."""

    code: str
    said: str
    """The id of a result, the message of an error."""


class WriteMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("trio.to_thread.run_sync", _run_inline)
        self.patch.setattr("broker.mutations.TURN_BACKOFF", Backoff(base_s=0.5, cap_s=8.0))  # fewer looks, same waits
        self.trio = PausedTrio()
        self.world = World(Path(self.folder.name), self.trio.nursery)
        self.world.prepare()
        self.person = JournalStore(self.world.home / "journal.sqlite", "", self.world.alive.__contains__)
        self.brokers: dict[int, Broker] = {}
        self.generation = 0
        self.arguments = {key: arguments for key, (_, arguments) in WRITES.items()}
        self.calls = 0
        self.said: dict[str, Call] = {}
        """Key → the first answer that settled it."""
        self.unknown: set[str] = set()
        """Keys that were said to be unknown."""
        self.frozen: dict[str, MutationRecord] = {}
        self.edited: dict[str, str] = {}
        """Note id → the person's own text in it."""
        self.has_lookalikes: set[str] = set()
        """First words of the keys whose items the person has made by hand too."""

    def teardown(self) -> None:
        try:
            self.trio.close()
        finally:
            self.patch.undo()
            self.person.close()
            self.world.state.close()
            self.folder.cleanup()

    # ------------------------------------------------------------------------------------------------ brokers
    @initialize()
    def start_brokers(self) -> None:
        for number in BROKERS:
            self.start(number)

    def start(self, number: int) -> None:
        self.generation += 1
        self.brokers[number] = self.trio.run(Broker.start, self.world, f"broker {number} {self.generation}")

    def bury(self) -> None:
        """Start a new broker in the place of each that died."""
        for number, broker in self.brokers.items():
            if not broker.is_alive:
                self.trio.run(broker.ended.wait)
                self.start(number)

    @rule(number=brokers)
    def kill(self, number: int) -> None:
        self.trio.run(_die, self.brokers[number])
        self.bury()

    # ------------------------------------------------------------------------------------------------ agents
    @rule(key=keys, number=brokers, pick=picks, fates=fates, reads=reads, lives=lives, leave_after_s=leaves)
    def call(
        self,
        key: str,
        number: int,
        pick: int,
        fates: list[Fate],
        reads: list[bool],
        lives: int | None,
        leave_after_s: float,
    ) -> None:
        """One call, in a world where this and that goes wrong. Also a repeat, if the key was used before."""
        if not self.choose_note(key, pick):
            return
        self.world.fates, self.world.reads = list(fates), list(reads)
        self.brokers[number].awaits_left = lives
        self.trio.run(self.ask, key, number, leave_after_s)
        self.brokers[number].awaits_left = None
        self.world.fates, self.world.reads = [], []
        self.bury()

    @rule(kind=kinds, same=st.booleans(), fates=fates_of_two, reads=reads)
    def call_two_at_once(self, kind: str, *, same: bool, fates: list[Fate], reads: list[bool]) -> None:
        """Two brokers write the same at once, with one key or with two."""
        self.world.fates, self.world.reads = list(fates), list(reads)
        self.trio.run(self.ask_both, f"{kind} 1", f"{kind} {1 if same else 2}")
        self.world.fates, self.world.reads = [], []

    @rule(key=keys, number=brokers)
    def use_a_key_for_something_else(self, key: str, number: int) -> None:
        if key not in self.said and key not in self.unknown:
            return
        tool, arguments = self.write(key)
        other: Json = {
            "create_note": {**arguments, "content": "Other."},
            "add_source": {"source": {"type": "text", "title": "Other", "content": "Other."}},
            "delete_note": {"note_id": str(UUID(int=1))},
        }[tool]
        self.calls += 1
        call = self.brokers[number].call
        envelope = self.trio.run(call, key, f"{self.calls:032x}", tool, other, FOR_GOOD_S)
        assert envelope is not None
        assert envelope["error"]["code"] == "INVALID_ARGUMENT"

    @rule(seconds=st.sampled_from([1.0, SLOW_S / 2, 2 * SLOW_S, 400.0]))
    def wait(self, seconds: float) -> None:
        self.trio.run(trio.sleep, seconds)

    @precondition(lambda self: self.unknown)
    @rule(is_backwards=st.booleans())
    def repeat_what_is_unknown_in_a_better_world(self, *, is_backwards: bool) -> None:
        """Nothing that took effect stays unknown, unless something else could be it as well."""
        self.trio.run(trio.sleep, 500.0)
        for key in sorted(self.unknown, reverse=is_backwards):
            self.trio.run(self.ask, key, 0, FOR_GOOD_S)
        rivals = [key.split()[0] for key in self.unknown]
        for key in self.unknown - set(DELETIONS):
            kind = key.split()[0]
            made = set(self.world.made.get(key, ())) & self.world.live() - self.world.by_hand
            assert not made or rivals.count(kind) > 1 or kind in self.has_lookalikes, f"{key} is lost"

    # ------------------------------------------------------------------------------------------------ the person
    @rule(is_lookalike=st.booleans(), is_filled=st.booleans())
    def add_a_note_by_hand(self, *, is_lookalike: bool, is_filled: bool) -> None:
        title, text = "New Note", ""
        if is_filled:
            title, text = (NOTE["title"], NOTE["content"]) if is_lookalike else ("Mine", "My own words.")
        made = Note(self.new_id(), title, text, now(), self.author)
        self.world.notebook.notes.append(made)
        self.world.by_hand.add(made.id)
        if is_lookalike or not is_filled:
            self.has_lookalikes.add("note")

    @rule(kind=st.sampled_from(["text", "page", "other"]))
    def add_a_source_by_hand(self, kind: str) -> None:
        made = Source(
            id=self.new_id(),
            title={"text": "Log", "page": "A page", "other": "Mine"}[kind],
            text="Calm.",
            type=SourceType.WEB_PAGE if kind == "page" else SourceType.TEXT,
            state=SourceState.READY,
            added=now(),
            revision_id=self.new_id(),
            revised=now(),
            url="https://example.com/a" if kind == "page" else None,
        )
        self.world.state.insert_source(self.world.notebook, made)
        self.world.by_hand.add(made.id)
        self.has_lookalikes.add(kind)

    @precondition(lambda self: self.world.live())
    @rule(pick=picks, is_edit=st.booleans())
    def change_something_by_hand(self, pick: int, *, is_edit: bool) -> None:
        things = [*(note for note in self.world.notebook.notes if not note.deleted), *self.world.notebook.sources]
        thing = things[pick % len(things)]
        self.world.by_hand.add(thing.id)
        if isinstance(thing, Source):
            self.world.state.remove_source(thing.id)
        elif is_edit:
            thing.text = "Changed by hand."
            if not self.world.under_way and not any(broker.is_writing for broker in self.brokers.values()):
                self.edited[thing.id] = thing.text
        else:
            thing.deleted = True

    # ------------------------------------------------------------------------------------------------ what must hold
    def hear(self, key: str, envelope: dict[str, Any] | None) -> None:
        """Hold one answer against all that was said before, and against the notebook."""
        if envelope is None or (envelope["ok"] and envelope["result"]["status"] == "running"):
            return
        if envelope["ok"]:
            result = envelope["result"]
            said = Call("ok", str(result.get("source_id") or result["note_id"]))
            assert result["replayed"] or key not in self.said
        elif envelope["error"]["code"] == "NOT_FOUND" and "source_id" in envelope["error"].get("details", {}):
            # Done, as was said or would have been, and gone by now.
            said = Call("ok", envelope["error"]["details"]["source_id"])
            assert said.said in self.world.by_hand - self.world.live()
        elif envelope["error"]["code"] == "MUTATION_UNKNOWN":
            assert key not in self.said
            assert envelope["error"].get("details", {}).get("mutation") != "rejected"
            self.unknown.add(key)
            return
        elif envelope["error"].get("details", {}).get("mutation") == "rejected":
            said = Call(envelope["error"]["code"], envelope["error"]["message"])
            assert key not in self.unknown, "an unknown write was rejected later"
        else:  # nothing has happened
            assert key not in self.said
            assert key not in self.unknown
            assert not any(self.world.sent[rpc_id, key] for rpc_id in CREATING | DELETING)
            return
        self.unknown.discard(key)
        if key not in self.said:
            self.said[key] = said
            self.check_first(key, said)
        assert self.said[key] == said

    def check_first(self, key: str, said: Call) -> None:
        """Check what was just said for the first time."""
        if said.code != "ok":
            return
        if key in DELETIONS:
            assert said.said not in self.world.live()
            return
        assert said.said not in self.world.before[key], "what stood there before was taken for ours"
        if key.split()[0] not in self.has_lookalikes:
            assert self.world.made.get(key) == [said.said]

    @invariant()
    def a_key_creates_or_deletes_with_one_request_and_makes_one_item_at_most(self) -> None:
        for (rpc_id, key), times in self.world.sent.items():
            assert times == 1 or rpc_id not in CREATING | DELETING, (key, rpc_id)
        for key, made in self.world.made.items():
            assert len(made) <= 1, key

    @invariant()
    def what_is_settled_in_the_journal_never_changes(self) -> None:
        for record in self.person.records():
            if record.is_settled:
                assert self.frozen.setdefault(record.key, record) == record
        for key, said in self.said.items():
            assert self.frozen[key].state is (State.CONFIRMED if said.code == "ok" else State.REJECTED)

    @invariant()
    def what_was_rejected_never_happens(self) -> None:
        for key, record in self.frozen.items():
            assert record.state is State.CONFIRMED or not self.world.made.get(key), key

    @invariant()
    def what_the_person_wrote_into_a_note_stays(self) -> None:
        for note in self.world.notebook.notes:
            assert note.deleted or note.text == self.edited.get(note.id, note.text)

    @invariant()
    def what_is_done_is_there_until_somebody_deletes_it(self) -> None:
        live = self.world.live()
        gone = self.world.by_hand | {str(self.arguments[key]["note_id"]) for key in DELETIONS if key in self.arguments}
        named: list[str] = []
        for key, record in self.frozen.items():
            if record.state is State.CONFIRMED and key not in DELETIONS:
                assert record.result is not None
                item = str(record.result.get("source_id") or record.result["note_id"])
                assert item in live | gone, key
                named.append(item)
        assert len(named) == len(set(named)), "two keys name one item"

    @invariant()
    def a_created_note_has_its_text(self) -> None:
        notes = {note.id: note for note in self.world.notebook.notes if not note.deleted}
        for key, said in self.said.items():
            note = notes.get(said.said)
            if note is not None and key in WRITES and note.id not in self.world.by_hand:
                assert (note.title, note.text) == (WRITES[key][1]["title"], WRITES[key][1]["content"])

    # ------------------------------------------------------------------------------------------------ inside
    @property
    def author(self) -> str:
        return self.world.state.account("ada@example.com").user_id

    def new_id(self) -> str:
        self.calls += 1
        return str(UUID(int=self.calls + (4 << 76) + (8 << 60)))

    def choose_note(self, key: str, pick: int) -> bool:
        """Give a deletion a note at its first use, any that ever was; tell whether the key can be used."""
        if key in DELETIONS and key not in self.arguments:
            notes = self.world.notebook.notes
            if not notes:
                return False
            self.arguments[key] = {"note_id": notes[pick % len(notes)].id}
        return True

    def write(self, key: str) -> tuple[str, Json]:
        return ("delete_note" if key in DELETIONS else WRITES[key][0]), self.arguments[key]

    async def ask(self, key: str, number: int, leave_after_s: float) -> None:
        self.calls += 1
        call = self.brokers[number].call
        self.hear(key, await call(key, f"{self.calls:032x}", *self.write(key), leave_after_s))

    async def ask_both(self, first: str, second: str) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.ask, first, 0, FOR_GOOD_S)
            nursery.start_soon(self.ask, second, 1, FOR_GOOD_S)


async def _run_inline(work: Any, *args: Any, **options: Any) -> Any:
    """Stand in for a thread: virtual time would run while a real one works."""
    await trio.lowlevel.checkpoint()
    return work(*args)


async def _die(broker: Broker) -> None:
    broker.die()
    await broker.ended.wait()


TestWriteMachine = WriteMachine.TestCase
TestWriteMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
