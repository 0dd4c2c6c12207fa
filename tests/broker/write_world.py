"""Brokers that die, a browser that loses answers and a person who meddles, around the emulator's own notebook.

The flows, the dispatcher and the journal file are the real ones; only threads are not, so that virtual time is true.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from enum import Enum, auto
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import trio
from attrs import define, field

from broker.allowlist import change_allowlist
from broker.companion import RpcReply
from broker.errors import AccountMismatch, CompanionOffline, DeadlineExceeded, GatewayError, TabDiscarded
from broker.journal import Journal
from broker.journal_store import JournalStore
from broker.mutations import Mutations
from harness.emulator.framing import result_row, status_row, whole_body
from harness.emulator.model import Notebook, Reading, SourceState
from harness.emulator.params import PERMISSION_DENIED, Denied
from harness.emulator.rpc_table import WRITES
from harness.emulator.seed import EMPTY_PLAN_ID, default_world
from harness.emulator.seed import World as Seed
from harness.emulator.state import ServiceState
from harness.emulator.writes import Waiting, Write
from tests.broker.emulator_companion import ACCOUNT
from tests.broker.mutation_helpers import InlineJournal
from tests.broker.session_helpers import Bench, Browser

Answer = TypeVar("Answer")
SLOW_S = 60.0
"""Longer than any call is kept waiting."""
QUICK_S = 0.1
INTERNAL = 13
"""A status that says neither yes nor no."""
CREATING = frozenset({"izAoDd", "CYK0Xb"})
DELETING = frozenset({"AH0mwd"})


def one_notebook() -> Seed:
    """Build a service with nothing in it but an empty notebook."""
    seed = default_world()
    seed.notebooks = [notebook for notebook in seed.notebooks if notebook.id == EMPTY_PLAN_ID]
    seed.chats = []
    return seed


class Fate(Enum):
    """What becomes of one writing request."""

    DONE = auto()
    SLOW = auto()
    """Done, and answered, after a minute."""
    ANSWER_LOST = auto()
    LOST = auto()
    LATE = auto()
    """The connection breaks at once, and the request takes effect after a minute."""
    SILENT = auto()
    """No effect, and no answer at all."""
    REFUSED = auto()
    """The service says no to this very request."""
    DOUBTFUL = auto()
    """The service answers with an error that says neither yes nor no; nothing happened."""
    DOUBTFUL_BUT_DONE = auto()
    NOT_LET_OUT = auto()
    """The executor refuses to start it."""
    NEVER_STARTED = auto()
    """There was nothing to start it in."""


@define(eq=False)
class World:
    """Everything that outlives a broker: the journal's folder, the service, and the requests under way in the browser.

    What happens to a write is booked under its idempotency key, which the trace of its requests tells.
    """

    folder: Path
    nursery: trio.Nursery
    state: ServiceState = field(factory=lambda: ServiceState(one_notebook))
    alive: set[str] = field(factory=set[str])
    keys: dict[str, str] = field(factory=dict[str, str])
    """Trace id → key."""
    fates: list[Fate] = field(factory=list[Fate])
    """Of the next writing requests; then every one is DONE."""
    reads: list[bool] = field(factory=list[bool])
    """Whether the next reads succeed; then every one does."""
    sent: Counter[tuple[str, str]] = field(factory=Counter[tuple[str, str]])
    """(RPC id, key) → requests that the browser started."""
    before: dict[str, set[str]] = field(factory=dict[str, set[str]])
    """Key → what was in the notebook when its first request left."""
    under_way: int = 0
    """Requests in the browser."""
    made: dict[str, list[str]] = field(factory=dict[str, list[str]])
    """Key → ids that its requests brought into the notebook."""
    by_hand: set[str] = field(factory=set[str])
    """Ids that the person added, edited or deleted."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def notebook(self) -> Notebook:
        return self.state.notebook_for(EMPTY_PLAN_ID, ACCOUNT)

    def live(self) -> set[str]:
        """Return the ids of what is in the notebook."""
        return {note.id for note in self.notebook.notes if not note.deleted} | {
            source.id for source in self.notebook.sources
        }

    def prepare(self) -> None:
        """Make the folders that a broker expects."""
        (self.folder / "project" / ".git").mkdir(parents=True)
        self.home.mkdir()
        (self.home / "config.toml").write_text(f'account = "{ACCOUNT}"\n')
        change_allowlist(self.home / "allowlist.json", lambda old: old.adding(ACCOUNT, [EMPTY_PLAN_ID]))

    def carry_out(self, rpc_id: str, params: object, key: str) -> RpcReply:
        """Let a request take effect now."""
        before = self.live()
        sent: Any = json.loads(json.dumps(params))
        write = Write(self.state, self.state.account(ACCOUNT), sent, Reading(script=(SourceState.READY,)))
        try:
            result = WRITES[rpc_id](write)
        except Denied as denied:
            return _reply(status_row(rpc_id, [denied.status]))
        self.made.setdefault(key, []).extend(self.live() - before)
        return _reply(result_row(rpc_id, result.result() if isinstance(result, Waiting) else result))


def _reply(row: Any) -> RpcReply:
    return RpcReply(200, whole_body(row, duration_ms=1, serial=1))


@define(eq=False)
class _Exchange:
    """One writing request in the browser. It goes on there whatever becomes of the broker."""

    answered: trio.Event = field(factory=trio.Event)
    answer: RpcReply | GatewayError | None = None

    def end(self, answer: RpcReply | GatewayError) -> None:
        self.answer = answer
        self.answered.set()


@define(eq=False)
class DoomedBrowser(Browser):
    """The browser as one broker sees it."""

    broker: Broker | None = None

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        assert self.broker is not None
        world = self.broker.world
        await self.broker.live_on()
        if deadline_s <= trio.current_time():
            raise DeadlineExceeded("No time was left.", started=False)
        if rpc_id in WRITES:
            key = world.keys[traceparent.split("-")[1]]
            reply = await _write(world, rpc_id, params, key, deadline_s)
        elif world.reads and not world.reads.pop(0):
            raise CompanionOffline("The connection broke.")
        else:
            reply = await Browser.rpc(
                self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
            )
        await self.broker.live_on()
        return reply


async def _write(world: World, rpc_id: str, params: object, key: str, deadline_s: float) -> RpcReply:
    fate = world.fates.pop(0) if world.fates else Fate.DONE
    if fate is Fate.NOT_LET_OUT:
        raise AccountMismatch("Another account.", started=False)
    if fate is Fate.NEVER_STARTED:
        raise TabDiscarded("The tab was gone.", started=False)
    world.sent[rpc_id, key] += 1
    world.before.setdefault(key, world.live())
    exchange = _Exchange()
    world.nursery.start_soon(_meet, fate, world, rpc_id, params, key, exchange)
    with trio.move_on_at(deadline_s):
        await exchange.answered.wait()
    if exchange.answer is None:
        raise DeadlineExceeded("The browser did not end the call within its deadline.")
    if isinstance(exchange.answer, GatewayError):
        raise exchange.answer
    return exchange.answer


async def _meet(fate: Fate, world: World, rpc_id: str, params: object, key: str, exchange: _Exchange) -> None:
    world.under_way += 1
    await _meet_fate(fate, world, rpc_id, params, key, exchange)
    world.under_way -= 1


async def _meet_fate(fate: Fate, world: World, rpc_id: str, params: object, key: str, exchange: _Exchange) -> None:
    broken = CompanionOffline("The connection broke.")
    await trio.sleep(SLOW_S if fate is Fate.SLOW else QUICK_S)
    match fate:
        case Fate.ANSWER_LOST:
            world.carry_out(rpc_id, params, key)
            exchange.end(broken)
        case Fate.LOST:
            exchange.end(broken)
        case Fate.LATE:
            exchange.end(broken)
            await trio.sleep(SLOW_S)
            world.carry_out(rpc_id, params, key)
        case Fate.SILENT:
            pass
        case Fate.REFUSED:
            exchange.end(_reply(status_row(rpc_id, [PERMISSION_DENIED])))
        case Fate.DOUBTFUL:
            exchange.end(_reply(status_row(rpc_id, [INTERNAL])))
        case Fate.DOUBTFUL_BUT_DONE:
            world.carry_out(rpc_id, params, key)
            exchange.end(_reply(status_row(rpc_id, [INTERNAL])))
        case _:
            exchange.end(world.carry_out(rpc_id, params, key))


class _DoomedJournal(InlineJournal):
    """Its broker may die before or after each statement; a statement of a dead one is never carried out."""

    def __init__(self, store: JournalStore, broker: Broker) -> None:
        super().__init__(store, Random(1))
        self._broker = broker

    async def _run(self, statement: Callable[[], Answer]) -> Answer:
        await self._broker.live_on()
        answer = await super()._run(statement)
        await self._broker.live_on()
        return answer


class Broker:
    """One broker process. Made by `start`."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.awaits_left: int | None = None
        """It dies when it has waited so many times more."""
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.bench: Bench | None = None

    @classmethod
    async def start(cls, world: World, name: str) -> Broker:
        """Start one that has selected the notebook."""
        broker = cls(world, name)
        world.alive.add(name)
        await world.nursery.start(broker._run)
        return broker

    @property
    def is_alive(self) -> bool:
        return self.name in self.world.alive

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way in it, with or without somebody who waits for it."""
        assert self.bench is not None
        return bool(self.bench.session.mutations._runs)  # pyright: ignore[reportPrivateUsage]

    async def _run(self, task_status: trio.TaskStatus[None]) -> None:
        browser = DoomedBrowser(self.world.state, broker=self)
        try:
            with self.scope:
                async with trio.open_nursery() as nursery:
                    self.bench = Bench(self.world.home, self.world.folder / "project", browser, nursery)
                    self.bench.session.mutations = Mutations(nursery, self._open_journal, Random(1))
                    self.bench.session.rng = Random(1)
                    chosen = {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False}
                    await self.bench.result("select_notebook", chosen)
                    task_status.started()
                    await trio.sleep_forever()
        finally:
            self.ended.set()

    @asynccontextmanager
    async def _open_journal(self) -> AsyncGenerator[Journal]:
        store = JournalStore(self.world.home / "journal.sqlite", self.name, self.world.alive.__contains__)
        yield _DoomedJournal(store, self)
        store.close()

    async def live_on(self) -> None:
        """Be at a point where the process may die; nothing that is dead ever comes back from here."""
        if self.awaits_left is not None and self.is_alive:
            self.awaits_left -= 1
            if self.awaits_left < 0:
                self.die()
        if not self.is_alive:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()

    def die(self) -> None:
        """Kill it: nothing is settled or given back, and only what is on disk stays."""
        self.world.alive.discard(self.name)
        self.scope.cancel()

    async def call(
        self, key: str, trace_id: str, tool: str, arguments: Mapping[str, object], leave_after_s: float
    ) -> dict[str, Any] | None:
        """Make a call; returns its envelope, or None if the caller left before it came or the broker died over it."""
        assert self.bench is not None
        self.world.keys[trace_id] = key
        envelope: dict[str, Any] | None = None
        meta: dict[str, object] = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}

        async def until_dead(scope: trio.CancelScope) -> None:
            await self.ended.wait()
            scope.cancel()

        with trio.move_on_after(leave_after_s) as leaving:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(until_dead, leaving)
                called = await self.bench.call(tool, {**arguments, "idempotency_key": key}, **meta)
                envelope = called if self.is_alive else None
                nursery.cancel_scope.cancel()
        return envelope
