"""A journal that runs inline, so that virtual time is true, and a notebook that takes and loses writes on demand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto
from pathlib import Path
from random import Random
from typing import TypeVar

import trio
from attrs import define, field

from broker.errors import AccountMismatch, CompanionOffline, GatewayError, RateLimited, TabDiscarded
from broker.journal import Journal
from broker.journal_rows import Json, Request, fingerprint, payload_hash
from broker.journal_store import JournalStore
from broker.mutations import Mutation, Mutations, Result, StillRunning
from broker.proving import create_once, doubles_of

Answer = TypeVar("Answer")
NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"


class InlineJournal(Journal):
    """The same statements on the same file, without a thread: a mock clock would jump while a thread works."""

    async def _run(self, statement: Callable[[], Answer]) -> Answer:
        await trio.lowlevel.checkpoint()
        return statement()


def inline_journal(
    home: Path, owner: str = "me", is_alive: Callable[[str], bool] = lambda owner: False
) -> InlineJournal:
    return InlineJournal(JournalStore(home / "journal.sqlite", owner, is_alive), Random(1))


class Fate(Enum):
    """What becomes of a create request."""

    DONE = auto()
    REFUSED = auto()
    """The service says no to this very request."""
    NOT_LET_OUT = auto()
    """The executor refuses to start it."""
    NEVER_STARTED = auto()
    """There was nothing to start it in."""
    COMMITTED_ANSWER_LOST = auto()
    TWICE = auto()
    """The browser sent it twice; the answer is that of the second."""
    LOST = auto()
    LATE = auto()
    """The answer is lost, and the thing appears after a minute."""


LATE_S = 60.0


@define(eq=False)
class Notebook:
    """Things by id, each with a name. `fates` are used up one per create request, then every one is DONE."""

    things: dict[str, str] = field(factory=dict[str, str])
    fates: list[Fate] = field(factory=list[Fate])
    takes_s: float = 0.0
    requests: list[str] = field(factory=list[str])
    offline: bool = False
    late: list[tuple[float, str]] = field(factory=list[tuple[float, str]])

    async def read(self) -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        if self.offline:
            raise CompanionOffline("No browser.", started=False)
        now = trio.current_time()
        for at, name in [entry for entry in self.late if entry[0] <= now]:
            self.late.remove((at, name))
            self._add(name)
        return dict(self.things)

    async def create(self, name: str) -> str:
        self.requests.append(name)
        await trio.sleep(self.takes_s)
        fate = self.fates.pop(0) if self.fates else Fate.DONE
        match fate:
            case Fate.DONE:
                return self._add(name)
            case Fate.REFUSED:
                refused = RateLimited("A quota is used up.")
                refused.definite = True
                raise refused
            case Fate.NOT_LET_OUT:
                raise AccountMismatch("Another account.", started=False)
            case Fate.NEVER_STARTED:
                raise TabDiscarded("The tab was gone.", started=False)
            case Fate.TWICE:
                self._add(name)
                return self._add(name)
            case Fate.COMMITTED_ANSWER_LOST:
                self._add(name)
            case Fate.LATE:
                self.late.append((trio.current_time() + LATE_S, name))
            case Fate.LOST:
                pass
        raise CompanionOffline("The connection broke.")

    def _add(self, name: str) -> str:
        made = f"id-{len(self.things) + 1}"
        self.things[made] = name
        return made


def request(key: str = "k", *, tool: str = "create", name: str = "n", notebook_id: str = NOTEBOOK) -> Request:
    return Request(
        "ada@example.com", tool, key, notebook_id, payload_hash(notebook_id, {"name": name}), fingerprint(name), "00-t"
    )


@define(eq=False)
class Writer:
    """One broker: its journal file is shared, its runs are its own."""

    mutations: Mutations
    notebook: Notebook
    said: list[Json] = field(factory=list[Json])

    async def ask(self, key: str = "k", name: str = "n") -> Result | StillRunning:
        async def write(mutation: Mutation) -> Result:
            made = await create_once(
                mutation,
                "create",
                "thing",
                self.notebook.read,
                lambda: self.notebook.create(name),
                lambda seen: seen == name,
            )
            doubles = doubles_of(mutation, "create")
            return {"made": made, "doubles": doubles} if doubles else {"made": made}

        return await self.mutations.carry_out(request(key, name=name), write, self.say)

    async def create(self, key: str = "k", name: str = "n") -> Result:
        outcome = await self.ask(key, name)
        assert isinstance(outcome, dict), outcome
        return outcome

    async def say(self, progress: Json) -> None:
        await trio.lowlevel.checkpoint()
        self.said.append(progress)

    async def failure(self, key: str = "k", name: str = "n") -> GatewayError:
        try:
            outcome = await self.create(key, name)
        except GatewayError as error:
            return error
        raise AssertionError(f"no error but {outcome}")


@asynccontextmanager
async def open_writer(
    home: Path, notebook: Notebook, *, owner: str = "me", is_alive: Callable[[str], bool] = lambda owner: False
) -> AsyncGenerator[Writer]:
    @asynccontextmanager
    async def open_inline() -> AsyncGenerator[Journal]:
        journal = inline_journal(home, owner, is_alive)
        yield journal
        journal._store.close()  # pyright: ignore[reportPrivateUsage]  # what open_journal does

    async with trio.open_nursery() as nursery:
        yield Writer(Mutations(nursery, open_inline, Random(1)), notebook)
        nursery.cancel_scope.cancel()
