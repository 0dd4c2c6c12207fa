"""The mutation journal: what was asked, what was sent, what came of it (ADR-005).

`broker.journal_store` has the statements; here they run off the Trio loop, one at a time, and are tried again while
another broker holds the file. Several brokers share one file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

import trio

from broker.backoff import Backoff
from broker.errors import InternalError
from broker.journal_faults import JournalBusy, translated
from broker.journal_rows import Begun, Json, MutationRecord, Request
from broker.journal_store import JournalStore
from broker.process_lock import ProcessLock, is_alive
from native_host.paths import journal_file, run_folder

BUSY_FOR_S: Final = 15.0
"""How long one statement is tried while other brokers write. Each holds the file for one disk synchronisation."""
BUSY_BACKOFF: Final = Backoff(base_s=0.01, cap_s=0.25)

Answer = TypeVar("Answer")


class Journal:
    """One broker's access to the journal; open it with `open_journal`.

    Raises (all methods): InternalError when the file cannot be read or written, or stays locked.
    """

    def __init__(self, store: JournalStore, rng: Random) -> None:
        self._store = store
        self._rng = rng
        self._one_at_a_time = trio.CapacityLimiter(1)

    def __repr__(self) -> str:
        return f"<Journal {self._store!r}>"

    async def begin(self, request: Request) -> Begun:
        """Find or make the row of `request`, and take it over if nobody alive has it."""
        return await self._run(partial(self._store.begin, request))

    async def is_begun(self, request: Request) -> bool:
        """Tell whether a row of `request` says more than that it was asked for."""
        return await self._run(partial(self._store.is_begun, request))

    async def try_lease(self, mutation_id: int, kind: str) -> bool:
        """Take the lease to create things of `kind` in the write's notebook, unless a living broker has it."""
        return await self._run(partial(self._store.try_lease, mutation_id, kind))

    async def mark_sent(self, mutation_id: int, step: str, facts: Json) -> MutationRecord:
        """Return when it is durable that the request of `step` is about to leave."""
        return await self._run(partial(self._store.mark_sent, mutation_id, step, facts))

    async def take_back(self, mutation_id: int, step: str) -> MutationRecord:
        """Forget the request of `step`, the only one so far, which provably never started."""
        return await self._run(partial(self._store.take_back, mutation_id, step))

    async def prove_step(self, mutation_id: int, step: str, facts: Json, claim: str | None) -> MutationRecord:
        """Record that `step` took effect. Raises: ClaimTaken."""
        return await self._run(partial(self._store.prove_step, mutation_id, step, facts, claim))

    async def confirm(self, mutation_id: int, result: Json) -> MutationRecord:
        """Settle the write with its result."""
        return await self._run(partial(self._store.confirm, mutation_id, result))

    async def reject(self, mutation_id: int, error: Json) -> MutationRecord:
        """Settle the write with a proven failure."""
        return await self._run(partial(self._store.reject, mutation_id, error))

    async def lose(self, mutation_id: int, error: Json) -> MutationRecord:
        """Freeze the write as unknown."""
        return await self._run(partial(self._store.lose, mutation_id, error))

    async def let_go(self, mutation_id: int) -> None:
        """Leave a write of which nothing was sent to whoever asks for it next."""
        await self._run(partial(self._store.let_go, mutation_id))

    async def claimed_among(self, account: str, remote_ids: Collection[str]) -> frozenset[str]:
        """Return those of `remote_ids` that some write has taken."""
        return await self._run(partial(self._store.claimed_among, account, remote_ids))

    async def rivals(self, mutation_id: int, step: str) -> int:
        """Count the other unsettled writes that a look at the notebook could not tell from this one."""
        return await self._run(partial(self._store.rivals, mutation_id, step))

    async def _run(self, statement: Callable[[], Answer]) -> Answer:
        return await _patiently(statement, self._one_at_a_time, self._rng)


async def _patiently(statement: Callable[[], Answer], limiter: trio.CapacityLimiter, rng: Random) -> Answer:
    """Run a statement in a thread until the file is free.

    The thread is never abandoned: it ends within the busy time-out and one disk write.
    """
    waiting = BUSY_BACKOFF
    give_up_at = trio.current_time() + BUSY_FOR_S
    while True:
        try:
            return await trio.to_thread.run_sync(statement, limiter=limiter)
        except JournalBusy as busy:
            if trio.current_time() >= give_up_at:
                raise InternalError(
                    f"The mutation journal stayed locked for {BUSY_FOR_S:g} s.",
                    hint="Call again with the same idempotency key; see `notebook-gateway journal list`.",
                    retryable=True,
                    started=False,
                ) from busy
        pause_s, waiting = waiting.next(rng)
        await trio.sleep(pause_s)


@asynccontextmanager
async def open_journal(home: Path, rng: Random | None = None) -> AsyncGenerator[Journal]:
    """Open the home folder's journal as a broker of its own.

    Raises:
        VersionSkew: a newer build wrote it.
        InternalError: it cannot be used; the message names file and reason.
    """
    rng = rng or Random()  # noqa: S311  # for jitter
    lock, store = await _patiently(partial(_open, home), trio.CapacityLimiter(1), rng)
    try:
        yield Journal(store, rng)
    finally:
        with trio.CancelScope(shield=True):
            # Both are short: closing a file each. A last checkpoint is bounded by SQLite's own 1000 pages.
            await trio.to_thread.run_sync(store.close)
            lock.close()


def open_store(home: Path, owner: str) -> JournalStore:
    """Open the journal of a home folder that is there, for blocking use. Raises: as `open_journal`; JournalBusy."""
    return JournalStore(journal_file(home), owner, partial(is_alive, run_folder(home)))


def _open(home: Path) -> tuple[ProcessLock, JournalStore]:
    with translated(journal_file(home)):
        lock = ProcessLock(run_folder(home))
    try:
        store = open_store(home, lock.owner)
        with suppress(JournalBusy):  # another broker is writing; one of the next will forget old rows
            store.prune()
    except BaseException:
        lock.close()
        raise
    return lock, store
