"""Sources that change their state at any time, against a naive model of the wait for them, in virtual time."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import trio
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from broker.errors import SourceNotReady
from broker.notebooks import Notebook, Source, State
from broker.readiness import PATIENCE_S, POLLING, Scope, wait_for_scope

STATES: tuple[State, ...] = ("processing", "preparing", "ready", "failed")
READ_S = 0.2


@frozen
class Life:
    """One source: its states in order, each with the second at which it begins."""

    kind: str
    states: list[tuple[float, State]] = field(converter=lambda states: sorted([(0.0, "processing"), *states]))

    def at(self, second: float) -> State:
        return next(state for begins, state in reversed(self.states) if begins <= second)

    def is_hopeless_at(self, second: float) -> bool:
        # Audio and video pass through "failed" while they are transcribed (C-079).
        return self.at(second) == "failed" and self.kind != "audio_video"


LIVES = st.lists(
    st.builds(
        Life,
        st.sampled_from(("pdf", "audio_video")),
        st.lists(st.tuples(st.floats(1.0, 90.0), st.sampled_from(STATES)), max_size=4),
    ),
    min_size=1,
    max_size=3,
)


class Service:
    """The notebook as it is at each moment, and when it was looked at."""

    def __init__(self, lives: list[Life]) -> None:
        self.lives = lives
        self.looks_s: list[float] = []
        self.began_s = trio.current_time()

    async def read(self) -> Notebook:
        second = trio.current_time() - self.began_s
        await trio.sleep(READ_S)
        self.looks_s.append(second)
        sources = (
            Source(f"s{number}", f"Source {number}", life.kind, 3, life.at(second), 2)
            for number, life in enumerate(self.lives)
        )
        return Notebook("nb", "Plan", None, "owner", False, None, None, tuple(sources))


@settings(max_examples=200, deadline=None)
@given(lives=LIVES, wanted=st.sets(st.integers(0, 2), min_size=1), seed=st.integers(0, 1000))
def test_c080_a_wait_ends_with_the_first_look_that_settles_it_and_never_later_than_its_patience(
    lives: list[Life], wanted: set[int], seed: int
) -> None:
    named = sorted(number % len(lives) for number in wanted)

    def settles(second: float) -> bool:
        scope = [lives[number] for number in named]
        return all(life.at(second) == "ready" for life in scope) or any(life.is_hopeless_at(second) for life in scope)

    async def wait() -> None:
        service = Service(lives)
        outcome: Scope | SourceNotReady
        try:
            outcome = await wait_for_scope(service.read, [f"s{number}" for number in named], rng=Random(seed))
        except SourceNotReady as error:
            outcome = error
        took_s = trio.current_time() - service.began_s
        *earlier, last = service.looks_s
        assert not any(map(settles, earlier)), "a look that settled it was followed by another"
        assert len(service.looks_s) <= PATIENCE_S
        assert took_s <= PATIENCE_S + READ_S
        if isinstance(outcome, Scope):
            assert [lives[int(source.id[1:])].at(last) for source in outcome.sources] == ["ready"] * len(set(named))
        elif outcome.retryable:
            assert not settles(last)
            assert took_s >= PATIENCE_S, "gave up before its patience was over"
        else:
            assert any(lives[number].is_hopeless_at(last) for number in named)
        looks = [*service.looks_s, took_s]
        assert all(later - look <= POLLING.cap_s + 2 * READ_S for look, later in pairwise(looks))

    trio.run(wait, clock=MockClock(autojump_threshold=0))
