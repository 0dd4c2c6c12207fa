"""Writes outlive the calls that ask for them, and happen once per key (ADR-005).

One run per (tool, key), in the broker's own nursery. A client's cancel or time-out only detaches the caller: before
anything was sent the run then ends without a trace, afterwards it goes on to its settlement. The same call again joins
the run, here or in another broker, or gets the stored outcome.

Which requests a write consists of is said by `broker.note_writing` and `broker.source_adding`; how each is proven, by
`broker.proving`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from random import Random
from typing import TYPE_CHECKING, Final, cast

import trio
from attrs import define, field, frozen

from broker.backoff import Backoff
from broker.errors import CallCancelled, DeadlineExceeded, GatewayError, InvalidArgument, MutationUnknown
from broker.faults import as_gateway_error
from broker.journal_rows import Found, Json, MutationRecord, Request, StepRecord
from broker.scrubber import scrub_content, scrub_json
from broker.write_outcomes import as_rejected, as_unknown, cut_short, error_json, stored_outcome

if TYPE_CHECKING:
    from broker.journal import Journal

ANSWER_WITHIN_S: Final = 45.0
"""No call stays silent longer; most clients give up after 60 s."""
SETTLE_WITHIN_S: Final = 3.0
"""How long a run that is cancelled may take to write down where it stands."""
OTHERS_WITHIN_S: Final = 600.0
"""How long a run waits for another session: for its turn to create, or for the end of the same write there. A session
that is alive and stays silent for so long is stopped (a sleeping laptop), and its writes are nobody else's."""
TURN_BACKOFF: Final = Backoff(base_s=0.02, cap_s=0.5)
"""Between looks at a lease or a run that another broker has."""

Result = dict[str, object]
Write = Callable[["Mutation"], Awaitable[Result]]
"""Carries a write out from its last proven step, and returns what the agent gets."""
OnProgress = Callable[[Json], Awaitable[None]]


def keep_nothing() -> None:
    """For writes that hold nothing open."""


class Refused(Exception):
    """Raised by a `Write` when `error` proves that nothing took effect."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__(error.message)
        self.error = error


@frozen
class StillRunning:
    """The write goes on; the same call again collects it. `progress` is what the running form shows of it."""

    progress: Json

    def as_result(self) -> Result:
        return {"status": "running", **self.progress}


class Mutation:
    """One write being carried out: its row, and what may be done with it."""

    def __init__(self, journal: Journal, run: _Run, record: MutationRecord, turns: _Turns, rng: Random) -> None:
        self.journal = journal
        self.rng = rng
        self.record = record
        self._run = run
        self._turns = turns

    def __repr__(self) -> str:
        return f"<Mutation {self.record.id} {self.record.tool} {self.record.state}>"

    @property
    def has_sent(self) -> bool:
        """Whether a request of this write may ever have left."""
        return bool(self.record.steps)

    def maybe_step(self, name: str) -> StepRecord | None:
        return self.record.maybe_step(name)

    def show(self, **progress: object) -> None:
        """Tell callers where the write stands: `stage`, and what else the running form of its tool has."""
        self._run.show(dict(progress))

    async def mark_sent(self, step: str, facts: Json) -> None:
        """Make durable that the request of `step` is about to leave. From here on a caller's cancel only detaches."""
        self._run.is_committed = True
        self.record = await self.journal.mark_sent(self.record.id, step, facts)

    async def take_back(self, step: str) -> None:
        """Forget the request of `step`, the only one so far, which provably never started."""
        self.record = await self.journal.take_back(self.record.id, step)

    async def prove_step(self, step: str, facts: Json, claim: str | None = None) -> None:
        """Record that `step` took effect. Raises: broker.journal_store.ClaimTaken."""
        self.record = await self.journal.prove_step(self.record.id, step, facts, claim)

    @asynccontextmanager
    async def turn_to_create(self, kind: str) -> AsyncGenerator[None]:
        """Be the only one, in all brokers, that creates things of `kind` in this notebook.

        The lease itself ends with the step's proof or with the run, in the same transaction.
        """
        async with self._turns.of(self.record.notebook_id, kind):
            waiting = TURN_BACKOFF
            give_up_at = trio.current_time() + OTHERS_WITHIN_S
            while not await self.journal.try_lease(self.record.id, kind):
                waiting = await _wait_for_others(waiting, give_up_at, self.rng)
            yield


class _Turns:
    """First come, first served inside this process, so that each broker has one contender for a lease."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, str], trio.Lock] = {}

    def of(self, notebook_id: str, kind: str) -> AbstractAsyncContextManager[object]:
        return self._locks.setdefault((notebook_id, kind), trio.Lock())


@define(eq=False)
class _Run:
    """One write under way in this process, or its outcome."""

    request: Request
    outcome: Result | GatewayError | None = None
    progress: Json = field(factory=dict[str, object])
    is_committed: bool = False
    """A request is about to leave, or has left: callers can no longer call it off."""
    changed: trio.Event = field(factory=trio.Event)
    scope: trio.CancelScope = field(factory=trio.CancelScope)
    attendants: int = 0

    def show(self, progress: Json) -> None:
        self.progress = progress
        self._announce()

    def finish(self, outcome: Result | GatewayError) -> None:
        self.outcome = outcome
        self._announce()

    def _announce(self) -> None:
        self.changed.set()
        self.changed = trio.Event()

    @contextmanager
    def attended(self) -> Generator[None]:
        self.attendants += 1
        try:
            yield
        except trio.Cancelled:
            if self.attendants == 1 and not self.is_committed:
                self.scope.cancel()  # the caller went away, and nothing has left yet
            raise
        finally:
            self.attendants -= 1


@frozen
class _Open:
    """The journal, and the nursery of the runs, which end before it is closed."""

    journal: Journal
    nursery: trio.Nursery


class Mutations:
    """All writes of this process.

    `open_journal` is called by the first write; it may raise a GatewayError, and the next write then tries again.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        open_journal: Callable[[], AbstractAsyncContextManager[Journal]],
        rng: Random | None = None,
    ) -> None:
        self._nursery = nursery
        self._open_journal = open_journal
        self._rng = rng or Random()  # noqa: S311  # for jitter
        self._open: _Open | None = None
        self._opening = trio.Lock()
        self._turns = _Turns()
        self._runs: dict[tuple[str, str], _Run] = {}

    def __repr__(self) -> str:
        return f"<Mutations {len(self._runs)} running>"

    async def carry_out(
        self, request: Request, write: Write, on_progress: OnProgress, *, release: Callable[[], None] = keep_nothing
    ) -> Result | StillRunning:
        """Carry a write out, join it, or return its stored outcome; wait for at most `ANSWER_WITHIN_S`.

        A result that was stored before, or belongs to a run that another call began, says ``"replayed": true``.
        `on_progress` is awaited with what the write shows of itself whenever that has changed. `release` is called
        once, when `write` needs what it holds (an open file) no longer.

        Raises:
            InvalidArgument: the key was used for another payload.
            MutationUnknown: it may have taken effect; the same call again looks again and never sends twice.
            VersionSkew, InternalError: the journal cannot be used; nothing was sent.
            GatewayError: what the write was refused with.
        """
        with ExitStack() as held:
            held.callback(release)
            opened = await self._opened()
            run = self._runs.get((request.tool, request.key))
            is_joined = run is not None
            if run is None:
                run = self._runs[request.tool, request.key] = _Run(request)
                opened.nursery.start_soon(self._carry_out, opened.journal, run, write, held.pop_all())
            elif run.request.payload_hash != request.payload_hash:
                raise _other_payload(request.tool)
        with run.attended(), trio.move_on_after(ANSWER_WITHIN_S):
            while run.outcome is None:
                await run.changed.wait()
                if run.outcome is None:
                    await on_progress(run.progress)
        if run.outcome is None:
            return StillRunning(run.progress)
        if isinstance(run.outcome, GatewayError):
            raise run.outcome
        return {**run.outcome, "replayed": True} if is_joined else run.outcome

    async def is_begun(self, request: Request) -> bool:
        """Tell whether the key is known already; repeating it then asks nobody anything."""
        opened = await self._opened()
        return (request.tool, request.key) in self._runs or await opened.journal.is_begun(request)

    async def drain(self) -> None:
        """Return when no write is under way; bound it by a time-out. For the end of the process."""
        while self._runs:
            await next(iter(self._runs.values())).changed.wait()

    async def _opened(self) -> _Open:
        if self._open is None:
            async with self._opening:
                if self._open is None:
                    self._open = await self._nursery.start(self._keep_open)
        assert self._open is not None
        return self._open

    async def _keep_open(self, task_status: trio.TaskStatus[_Open]) -> None:
        async with self._open_journal() as journal, trio.open_nursery() as nursery:
            task_status.started(_Open(journal, nursery))
            await trio.sleep_forever()

    async def _carry_out(self, journal: Journal, run: _Run, write: Write, held: ExitStack) -> None:
        outcome: Result | GatewayError = CallCancelled("The write was called off before anything was sent.")
        try:
            with held, run.scope:
                try:
                    outcome = await self._begin_and_write(journal, run, write)
                except Exception as error:  # noqa: BLE001  # kept for whoever is waiting
                    outcome = as_gateway_error(error, f"{run.request.tool}: the write")
        finally:
            del self._runs[run.request.tool, run.request.key]
            run.finish(outcome)

    async def _begin_and_write(self, journal: Journal, run: _Run, write: Write) -> Result:
        waiting = TURN_BACKOFF
        give_up_at = trio.current_time() + OTHERS_WITHIN_S
        while True:
            begun = await journal.begin(run.request)
            match begun.found:
                case Found.OTHER_PAYLOAD:
                    raise _other_payload(run.request.tool)
                case Found.SETTLED:
                    return stored_outcome(begun.record)
                case Found.OURS:
                    return await self._write(journal, run, begun.record, write)
                case Found.ELSEWHERE:
                    run.show({"stage": "carried out by another session"})
                    waiting = await _wait_for_others(waiting, give_up_at, self._rng)

    async def _write(self, journal: Journal, run: _Run, record: MutationRecord, write: Write) -> Result:
        mutation = Mutation(journal, run, record, self._turns, self._rng)
        run.is_committed = mutation.has_sent
        try:
            result = await write(mutation)
        except Refused as refused:
            error = as_rejected(refused.error, mutation.record)
            await journal.reject(record.id, error_json(error))
            raise error from refused.error
        except BaseException as error:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + SETTLE_WITHIN_S):
                await _leave_open(journal, mutation, error)
            if mutation.has_sent and isinstance(error, Exception) and not isinstance(error, MutationUnknown):
                raise as_unknown(error, mutation.record) from error
            raise
        stored = cast("Result", scrub_json(result, scrub_content))
        await journal.confirm(record.id, stored)
        return {**result, "replayed": False}


async def _wait_for_others(waiting: Backoff, give_up_at: float, rng: Random) -> Backoff:
    """Pause before the next look at what another session does; return the backoff for the one after.

    Raises:
        DeadlineExceeded: Trio's clock reads `give_up_at`.
    """
    if trio.current_time() >= give_up_at:
        raise DeadlineExceeded(
            f"Another session has been at this for {OTHERS_WITHIN_S:g} s; nothing was sent by this one.",
            hint="End the other session if it hangs, then repeat the call with the same idempotency key.",
            started=False,
        )
    pause_s, following = waiting.next(rng)
    await trio.sleep(pause_s)
    return following


async def _leave_open(journal: Journal, mutation: Mutation, error: BaseException) -> None:
    """Write down that the run ended without a settlement: unknown if anything may have left, else as if never begun."""
    if not mutation.has_sent:
        await journal.let_go(mutation.record.id)
        return
    known = as_unknown(error, mutation.record) if isinstance(error, Exception) else cut_short(mutation.record)
    await journal.lose(mutation.record.id, error_json(known))


def _other_payload(tool: str) -> InvalidArgument:
    return InvalidArgument(
        f"{tool}: idempotency_key was used before with other arguments or in another notebook.",
        hint="Use a new idempotency_key for a new write; repeat a write with exactly the same arguments.",
        started=False,
    )
