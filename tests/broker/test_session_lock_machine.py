"""Any number of agents that select at once, succeed, fail or are cancelled, against a naive model of the lock."""

from __future__ import annotations

from collections.abc import Callable

import trio
import trio.testing
from attrs import frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker.errors import NotFound, SessionLocked
from broker.session_lock import LockedNotebook, LockState, SessionLock

NOTEBOOKS = [LockedNotebook(f"1a2b3c4d-000{number}-4a00-8b00-00000000000a", f"Plan {number}") for number in range(3)]


@frozen
class Attempt:
    """One call of `select`. `steps` is how many turns of the scheduler its resolution takes."""

    notebook: LockedNotebook
    ends: str
    steps: int


ENDS = st.sampled_from(("found", "refused", "cancelled"))
ATTEMPTS = st.lists(
    st.builds(Attempt, st.sampled_from(NOTEBOOKS), ENDS, st.integers(0, 3)),
    min_size=1,
    max_size=5,
)


class Selecting(RuleBasedStateMachine):
    """One broker's session. `locked` is what the first successful selection chose."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = SessionLock()
        self.locked: LockedNotebook | None = None
        self.resolving = 0

    @rule(attempts=ATTEMPTS)
    def select_at_once(self, attempts: list[Attempt]) -> None:
        was_locked = self.locked
        outcomes: list[tuple[Attempt, object]] = []
        trio.run(self.run_all, attempts, outcomes)
        won = [attempt.notebook for attempt, outcome in outcomes if outcome == (attempt.notebook, True)]
        assert len(won) == (was_locked is None and any(attempt.ends == "found" for attempt in attempts))
        self.locked = was_locked or (won[0] if won else None)
        for attempt, outcome in outcomes:
            if outcome in {"refused", "cancelled"}:
                assert outcome == attempt.ends, "a resolution ended otherwise than it did"
                assert was_locked is None, "in a locked session nothing is resolved"
            elif outcome == "locked out":
                assert self.locked not in (None, attempt.notebook)
            else:
                assert attempt.notebook == self.locked

    async def run_all(self, attempts: list[Attempt], outcomes: list[tuple[Attempt, object]]) -> None:
        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                for attempt in attempts:
                    nursery.start_soon(self.select, attempt, outcomes)

    async def select(self, attempt: Attempt, outcomes: list[tuple[Attempt, object]]) -> None:
        with trio.CancelScope() as scope:
            try:
                outcome: object = await self.lock.select(is_it(attempt.notebook), lambda: self.resolve(attempt, scope))
            except NotFound:
                outcome = "refused"
            except SessionLocked:
                outcome = "locked out"
        outcomes.append((attempt, "cancelled" if scope.cancelled_caught else outcome))

    async def resolve(self, attempt: Attempt, scope: trio.CancelScope) -> LockedNotebook:
        self.resolving += 1
        assert self.resolving == 1, "two resolutions at once"
        assert self.lock.state is LockState.SELECTING
        assert self.lock.notebook is None
        try:
            for _ in range(attempt.steps):
                await trio.lowlevel.checkpoint()
            if attempt.ends == "cancelled":
                scope.cancel()
                await trio.lowlevel.checkpoint()
            if attempt.ends == "refused":
                raise NotFound("no such notebook")
            return attempt.notebook
        finally:
            self.resolving -= 1

    @invariant()
    def stands_where_the_model_does(self) -> None:
        assert self.lock.notebook == self.locked
        assert self.lock.state is (LockState.ACTIVE_DISPATCH if self.locked else LockState.DISCOVERY_ONLY)


def is_it(notebook: LockedNotebook) -> Callable[[LockedNotebook], bool]:
    return lambda locked: locked == notebook


TestSelecting = Selecting.TestCase
TestSelecting.settings = settings(max_examples=100, stateful_step_count=6, deadline=None)
