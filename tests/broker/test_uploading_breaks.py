"""Uploads through a model that breaks: the service finalises the file, or the run says where it stopped."""

from __future__ import annotations

import pytest
import trio
from hypothesis import event, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from broker.errors import (
    GatewayError,
    MutationUnknown,
)
from broker.notebooks import Source
from tests.broker.upload_bench import FINISH, FIVE_MB, SLICE, Bench, Cancelled, where
from tests.broker.upload_helpers import (
    SOURCE_ID,
    Break,
    BreakingCompanion,
    MemoryFile,
    Record,
    Service,
    some_content,
)

BREAKS = st.lists(st.one_of(st.none(), st.sampled_from(Break)), max_size=8)
PLANS = st.fixed_dictionaries(dict.fromkeys(("start", "slice", "query", "finish"), BREAKS))
SIZES = st.sampled_from([1, SLICE, 600_000, 2 * SLICE, 1_300_001])
GRANULARITIES = st.sampled_from([1, 100_000, 262_144, 524_288, 2_097_152])


async def how_it_ends(bench: Bench) -> GatewayError | Cancelled | None:
    try:
        await bench.run()
    except (GatewayError, Cancelled) as error:
        return error
    return None


@settings(max_examples=150)
@given(plan=PLANS, size_bytes=SIZES, granularity=GRANULARITIES)
def test_whatever_breaks_the_service_finalises_the_file_once_or_the_run_says_where_it_stopped(
    plan: dict[str, list[Break | None]], size_bytes: int, granularity: int
):
    content = some_content(size_bytes)

    async def play() -> None:
        bench = Bench(MemoryFile(content), BreakingCompanion(Service(granularity)))
        bench.companion.breaks_of = {op: list(breaks) for op, breaks in plan.items()}
        outcome = await how_it_ends(bench)
        for _ in range(sum(map(len, plan.values()))):  # repeats of the call, each of which meets a break or none
            if outcome is None:
                break
            if isinstance(outcome, GatewayError):
                assert isinstance(outcome, MutationUnknown)
                assert where(outcome)[0] == SOURCE_ID
                assert not outcome.definite
            outcome = await how_it_ends(bench)
        event("uploaded" if outcome is None else "stayed unknown")
        if outcome is None:
            assert bench.service.finalised == [content]
        else:
            assert bench.record.finalize_sent
        bench.companion.land_late_ones()
        assert bench.service.finalised in ([], [content])

    trio.run(play, clock=MockClock(autojump_threshold=0))


@pytest.mark.parametrize("kind", [Break.CANCEL_BEFORE, Break.CANCEL_AFTER])
@pytest.mark.parametrize("number", range(FINISH + 2))
async def test_a_cancelled_run_leaves_nothing_and_the_next_one_finishes(
    kind: Break, number: int, autojump_clock: MockClock
):
    """At every call up to the finalisation; the last number lets the run go through."""
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * number, kind]
    tasks = trio.lowlevel.current_statistics().tasks_living
    if number <= FINISH:
        with pytest.raises(Cancelled):
            await bench.run()
    assert trio.lowlevel.current_statistics().tasks_living == tasks
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]


@pytest.mark.parametrize("at", ["read_source", "read_at", "started", "pause", "on_bytes", "finalizing"])
async def test_a_run_that_is_cancelled_between_calls_is_finished_by_the_next(at: str, autojump_clock: MockClock):
    armed = [at]

    def strike(here: str) -> None:
        if here in armed:
            armed.remove(here)
            assert bench.companion.scope is not None
            bench.companion.scope.cancel()

    class StrikingFile(MemoryFile):
        def read_at(self, offset: int, size_bytes: int, /) -> bytes:
            trio.from_thread.run_sync(strike, "read_at")
            return super().read_at(offset, size_bytes)

    class StrikingRecord(Record):
        async def started(self, upload: str) -> None:
            strike("started")
            await super().started(upload)

        async def finalizing(self) -> None:
            strike("finalizing")
            await super().finalizing()

    class StrikingBench(Bench):
        async def read_source(self) -> Source | None:
            strike("read_source")
            return await super().read_source()

        async def on_bytes(self, received: int, size: int) -> None:
            strike("on_bytes")
            await super().on_bytes(received, size)

    bench = StrikingBench(StrikingFile(FIVE_MB), record=StrikingRecord())
    bench.companion.breaks = [None, Break.LOST_BEFORE]

    def strike_in_the_pause(_: int) -> None:
        if "pause" in armed:
            armed.remove("pause")
            assert bench.companion.scope is not None
            bench.companion.scope.deadline = trio.current_time() + 0.25

    bench.companion.on_slice = strike_in_the_pause
    with pytest.raises(Cancelled):
        await bench.run()
    assert armed == []
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("finish") == 1


async def test_only_one_slice_is_alive_at_a_time():
    alive, most = [0], [0]

    class Counted(bytes):
        def __init__(self, _: bytes) -> None:
            alive[0] += 1
            most[0] = max(most[0], alive[0])

        def __del__(self) -> None:
            alive[0] -= 1

    class CountedFile(MemoryFile):
        def read_at(self, offset: int, size_bytes: int, /) -> bytes:
            return Counted(super().read_at(offset, size_bytes))

    bench = Bench(CountedFile(FIVE_MB))
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert most == [1]
    assert alive == [0]
