"""Uploads through a model that breaks: what the service finalises is the file, or the run says where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from attrs import define, field
from hypothesis import event, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from broker.calls import CallContext
from broker.errors import (
    CompanionOffline,
    GatewayError,
    InvalidArgument,
    MutationUnknown,
    RateLimited,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.notebooks import Source
from broker.sent_content import FileBytes
from broker.uploading import UploadJob, upload_file
from tests.broker.upload_helpers import (
    NOTEBOOK_ID,
    SOURCE_ID,
    Break,
    BreakingCompanion,
    DiskFile,
    MemoryFile,
    Record,
    Service,
    row,
    some_content,
)
from tests.shared import case_input

FIVE_MB = some_content(5_000_000)
SLICE = 512 * 1024


class LongestWaits(Random):
    """Jitter at its ceiling, so that times can be told beforehand."""

    def uniform(self, a: float, b: float) -> float:
        return b


@define(eq=False)
class Bench:
    """One file, one source and one record, for as many runs as it takes."""

    file: FileBytes
    companion: BreakingCompanion = field(factory=BreakingCompanion)
    record: Record = field(factory=Record)
    received: list[int] = field(factory=list[int])
    rows_read: int = 0
    timeout_s: float = 6 * 3600.0

    async def run(self) -> None:
        job = UploadJob(NOTEBOOK_ID, SOURCE_ID, self.file, "a.pdf", "application/pdf")
        ctx = CallContext.starting_now(self.timeout_s, "00-" + "1" * 32 + "-" + "2" * 16 + "-01")
        with trio.CancelScope() as self.companion.scope:
            rng = LongestWaits()
            await upload_file(self.companion, job, self.record, self.read_source, ctx, self.on_bytes, rng)
            return
        raise Cancelled

    @property
    def service(self) -> Service:
        return self.companion.service

    async def read_source(self) -> Source | None:
        await trio.lowlevel.checkpoint()
        self.rows_read += 1
        return None if self.service.row is None else row(self.service.row)

    async def on_bytes(self, received: int, size: int) -> None:
        assert size == self.file.size_bytes
        self.received.append(received)


class Cancelled(Exception):
    """The run was cancelled from outside."""


def where(error: GatewayError) -> tuple[str, str]:
    assert type(error.details["bytes_received"]) is int
    return error.details["source_id"], error.details["stage"]


# -- the service's granularity and its number ------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", [262_144, 524_288, 1_048_576, 2_097_152, 100_000, 1])
async def test_c082_the_file_arrives_whole_at_any_granularity(granularity: int):
    bench = Bench(MemoryFile(FIVE_MB), BreakingCompanion(Service(granularity)))
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert [bench.companion.sent(op) for op in ("start", "slice", "query", "finish")] == [1, 10, 0, 1]
    assert bench.received == sorted(set(bench.received))


async def test_c082_drift_in_the_granularity_names_the_source():
    drift = UpstreamSchemaDrift("upload", "x-goog-upload-chunk-granularity", "a whole number", "abc")
    bench = Bench(MemoryFile(FIVE_MB), BreakingCompanion(Service(start_error=drift)))
    with pytest.raises(UpstreamSchemaDrift) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "start")
    assert bench.companion.sent("slice") == 0


@pytest.mark.parametrize("line", json.loads(case_input("C-083-query-answers.json").read_text())[:5], ids=str)
async def test_c083_the_file_is_whole_whatever_the_service_has_after_a_break(
    line: dict[str, Any], autojump_clock: MockClock
):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 5, Break.LOST_AFTER]

    def let_the_service_have(slices: int) -> None:
        if slices == 5:
            bench.companion.on_slice = lambda _: None
            bench.companion.breaks = [ServiceHas(line["status"], line["size_received"])]

    class ServiceHas(CompanionOffline):
        """Raised at slice 5; the service then has what the case says."""

        def __init__(self, status: Any, received: int | None) -> None:
            super().__init__("lost")
            session = bench.service.sessions[0]
            session.content[:] = FIVE_MB[: len(FIVE_MB) if received is None else received]
            session.status = status

    bench.companion.on_slice = let_the_service_have
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert len(bench.service.sessions) == 1
    assert bench.companion.sent("finish") == (0 if line["status"] == "final" else 1)


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[tuple[Path, DiskFile]]:
    path = tmp_path / "a.pdf"
    path.write_bytes(FIVE_MB)
    os.utime(path, ns=(0, 0))  # so that a change shows in it even within one tick of the file system's clock
    file = DiskFile(path)
    yield path, file
    file.close()


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x" * 1_000_000)


def truncate(path: Path) -> None:
    os.truncate(path, 2_000_000)


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"y" * len(FIVE_MB))


def rename_another_over(path: Path) -> None:
    (path.parent / "other").write_bytes(b"z" * len(FIVE_MB))
    (path.parent / "other").replace(path)


def delete(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [append, truncate, rewrite])
async def test_c084_a_file_that_changes_is_never_finalised(on_disk: tuple[Path, DiskFile], change: Any):
    path, file = on_disk
    bench = Bench(file)
    bench.companion.on_slice = lambda number: change(path) if number == 3 else None
    with pytest.raises(InvalidArgument, match=SOURCE_ID) as caught:
        await bench.run()
    assert caught.value.definite
    assert where(caught.value) == (SOURCE_ID, "slice 4")
    assert bench.service.finalised == []
    assert bench.companion.sent("finish") == 0
    assert not bench.record.finalize_sent


@pytest.mark.parametrize("change", [rename_another_over, delete])
async def test_c084_the_opened_file_is_uploaded_whole_whatever_becomes_of_its_name(
    on_disk: tuple[Path, DiskFile], change: Any
):
    path, file = on_disk
    bench = Bench(file)
    bench.companion.on_slice = lambda number: change(path) if number == 3 else None
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]


@pytest.mark.parametrize("number", [3, 10])
async def test_c084_a_rewrite_that_leaves_no_trace_in_the_time_of_change_is_found_by_the_digest(number: int):
    file = MemoryFile(FIVE_MB)
    bench = Bench(file)

    def rewrite_at(now: int) -> None:
        if now == number:
            file.content = b"y" * len(FIVE_MB)

    # The slice at hand was read before; the last one is the only one after a rewrite at 9.
    bench.companion.on_slice = lambda now: rewrite_at(now + 1)
    with pytest.raises(InvalidArgument) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "finalize")
    assert bench.service.finalised == []


async def test_c084_a_rewrite_between_two_runs_is_found_before_the_finalisation():
    file = MemoryFile(FIVE_MB)
    bench = Bench(file)
    bench.companion.breaks = [None, None, None, Break.CANCEL_AFTER]
    with pytest.raises(Cancelled):
        await bench.run()
    file.content = b"y" * len(FIVE_MB)
    with pytest.raises(InvalidArgument):
        await bench.run()
    assert bench.service.finalised == []


async def test_a_file_that_cannot_be_read_any_more_stops_the_upload():
    file = MemoryFile(FIVE_MB)

    def fail(offset: int, size_bytes: int, /) -> bytes:
        raise OSError(5, "Input/output error")

    file.read_at = fail
    with pytest.raises(InvalidArgument, match="Input/output error"):
        await Bench(file).run()


# -- registered but not uploaded ---------------------------------------------------------------------------------------


async def test_c086a_a_refused_start_is_definite_and_names_the_source():
    refused = UpstreamRejected("HTTP 400", details={"http_status": 400})
    bench = Bench(MemoryFile(FIVE_MB), BreakingCompanion(Service(start_error=refused)))
    with pytest.raises(UpstreamRejected) as caught:
        await bench.run()
    assert caught.value.definite
    assert where(caught.value) == (SOURCE_ID, "start")
    assert bench.record.starts == 0


async def test_c086b_a_start_without_a_session_address_sends_no_byte():
    drift = UpstreamSchemaDrift("upload", "x-goog-upload-url", "an address")
    bench = Bench(MemoryFile(FIVE_MB), BreakingCompanion(Service(start_error=drift)))
    with pytest.raises(UpstreamSchemaDrift) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "start")
    assert bench.companion.calls == ["start"]


async def test_c086c_a_slice_that_fails_three_times_can_be_resumed_by_a_repeat(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [None, None, Break.HTTP_503, None, Break.HTTP_503, None, Break.HTTP_503]
    with pytest.raises(MutationUnknown) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "slice 2")
    assert caught.value.details["bytes_received"] == SLICE
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.record.starts == 1


async def test_c086d_a_lost_answer_to_the_finalisation_is_settled_without_a_second_one(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 11, Break.LOST_AFTER]
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("finish") == 1


async def test_c086d_a_finalisation_lost_with_its_session_is_settled_by_the_row(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 11, Break.LOST_AFTER, Break.RESTART]
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("start") == 1


async def test_c086d_without_session_and_proof_the_finalisation_stays_unknown(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 11, CompanionOffline("lost for good"), Break.RESTART]
    with pytest.raises(MutationUnknown) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "finalize")
    with pytest.raises(MutationUnknown):  # and a repeat starts no session that could finalise it twice
        await bench.run()
    assert bench.companion.sent("start") == 1


async def test_c086d_a_finalisation_that_lands_late_is_found_by_a_repeat(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 11, Break.LATE, Break.RESTART]
    with pytest.raises(MutationUnknown):
        await bench.run()
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("start") == 1


# -- breaks ------------------------------------------------------------------------------------------------------------


async def test_an_extension_that_was_restarted_gets_one_new_session_for_the_same_source(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 4, Break.RESTART]
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.record.starts == 2
    assert [len(session.content) for session in bench.service.sessions] == [3 * SLICE, len(FIVE_MB)]


async def test_the_row_is_read_before_a_start_so_that_the_extension_knows_the_source(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [Break.LOST_BEFORE]
    await bench.run()
    assert bench.rows_read == 2


async def test_another_run_goes_on_where_the_service_is():
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 7, Break.CANCEL_AFTER]
    with pytest.raises(Cancelled):
        await bench.run()
    bench.companion.calls.clear()
    await bench.run()
    assert bench.companion.calls == ["query", "slice", "slice", "slice", "finish"]
    assert bench.service.finalised == [FIVE_MB]


async def test_waits_between_tries_grow_to_a_cap(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [None, None, *[Break.LOST_BEFORE] * 7]
    await bench.run()
    at = bench.companion.at[2:10]
    assert [later - earlier for earlier, later in pairwise(at)] == [0.5, 1, 2, 4, 8, 15, 15]


async def test_the_pause_that_the_service_asks_for_is_kept(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [None, None, RateLimited("HTTP 429", details={"retry_after_s": 30})]
    await bench.run()
    assert bench.companion.at[3] - bench.companion.at[2] == 30.5


async def test_a_browser_that_stays_away_ends_the_run_within_minutes(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [None, *[Break.LOST_BEFORE] * 50]
    with pytest.raises(MutationUnknown) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "slice 1")
    assert trio.current_time() < 300
    bench.companion.breaks.clear()
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]


async def test_the_callers_deadline_ends_the_run(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB), timeout_s=3.0)
    bench.companion.breaks = [None, *[Break.LOST_BEFORE] * 50]
    with pytest.raises(MutationUnknown):
        await bench.run()
    assert trio.current_time() == 3.0


# -- laws --------------------------------------------------------------------------------------------------------------

BREAKS = st.lists(st.one_of(st.none(), st.sampled_from(Break)), max_size=8)
PLANS = st.fixed_dictionaries(dict.fromkeys(("start", "slice", "query", "finish"), BREAKS))
SIZES = st.sampled_from([1, 524_288, 600_000, 1_048_576, 1_300_001])
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
        for _ in range(7):  # repeats of the call
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
@pytest.mark.parametrize("number", range(13))
async def test_a_cancelled_run_leaves_nothing_and_the_next_one_finishes(
    kind: Break, number: int, autojump_clock: MockClock
):
    """Thirteen calls: a start, ten slices, the finalisation; the last number lets the run go through."""
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * number, kind]
    tasks = trio.lowlevel.current_statistics().tasks_living
    if number < 12:
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
