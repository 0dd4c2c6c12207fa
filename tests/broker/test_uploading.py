"""Uploads through the model, case by case."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from broker.errors import (
    CompanionOffline,
    InvalidArgument,
    MutationUnknown,
    RateLimited,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.file_access import open_file
from broker.notebooks import Source
from broker.opened_file import OpenedFile
from tests.broker.upload_bench import FINISH, FIVE_MB, SLICE, SLICES, Bench, Cancelled, received_after, where
from tests.broker.upload_helpers import (
    SOURCE_ID,
    Break,
    BreakingCompanion,
    MemoryFile,
    Service,
)
from tests.shared import case_input

# -- the service's granularity and its number ------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", [262_144, 524_288, 1_048_576, 2_097_152, 100_000, 1])
async def test_c082_the_file_arrives_whole_at_any_granularity(granularity: int):
    bench = Bench(MemoryFile(FIVE_MB), BreakingCompanion(Service(granularity)))
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert [bench.companion.sent(op) for op in ("start", "slice", "query", "finish")] == [1, SLICES, 0, 1]
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
def on_disk(tmp_path: Path) -> Iterator[tuple[Path, OpenedFile]]:
    path = tmp_path / "a.pdf"
    path.write_bytes(FIVE_MB)
    os.utime(path, ns=(0, 0))  # so that a change shows in it even within one tick of the file system's clock
    file = open_file(str(path), roots=[tmp_path], max_bytes=len(FIVE_MB))
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
async def test_c084_a_file_that_changes_is_never_finalised(on_disk: tuple[Path, OpenedFile], change: Any):
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
    on_disk: tuple[Path, OpenedFile], change: Any
):
    path, file = on_disk
    bench = Bench(file)
    bench.companion.on_slice = lambda number: change(path) if number == 3 else None
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]


@pytest.mark.parametrize("number", [3, SLICES])
async def test_c084_a_rewrite_that_leaves_no_trace_in_the_time_of_change_is_found_by_the_digest(number: int):
    file = MemoryFile(FIVE_MB)
    bench = Bench(file)

    def rewrite_at(now: int) -> None:
        if now == number:
            file.content = b"y" * len(FIVE_MB)

    # The slice at hand was read before; the last one is the only one after a rewrite right before it.
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
    # Asked after each failure, the service is still at the end of its last whole step, which lies in the first slice.
    assert where(caught.value) == (SOURCE_ID, "slice 1")
    assert caught.value.details["bytes_received"] == received_after(1)
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.record.starts == 1


async def test_c086d_a_lost_answer_to_the_finalisation_is_settled_without_a_second_one(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * FINISH, Break.LOST_AFTER]
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("finish") == 1


async def test_c086d_a_finalisation_lost_with_its_session_is_settled_by_the_row(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * FINISH, Break.LOST_AFTER, Break.RESTART]
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.companion.sent("start") == 1


async def test_c086d_without_session_and_proof_the_finalisation_stays_unknown(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * FINISH, CompanionOffline("lost for good"), Break.RESTART]
    with pytest.raises(MutationUnknown) as caught:
        await bench.run()
    assert where(caught.value) == (SOURCE_ID, "finalize")
    with pytest.raises(MutationUnknown):  # and a repeat starts no session that could finalise it twice
        await bench.run()
    assert bench.companion.sent("start") == 1


async def test_c086d_a_finalisation_that_lands_late_is_found_by_a_repeat(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * FINISH, Break.LATE, Break.RESTART]
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
    assert [len(session.content) for session in bench.service.sessions] == [received_after(3), len(FIVE_MB)]


async def test_the_row_is_read_before_a_start_so_that_the_extension_knows_the_source(autojump_clock: MockClock):
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [Break.LOST_BEFORE]
    await bench.run()
    assert bench.rows_read == 2


async def test_a_read_that_hangs_is_given_up_and_tried_again(autojump_clock: MockClock):
    class HangingOnce(Bench):
        async def read_source(self) -> Source | None:
            source = await super().read_source()
            if self.rows_read == 1:
                await trio.sleep_forever()
            return source

    bench = HangingOnce(MemoryFile(FIVE_MB))
    await bench.run()
    assert bench.service.finalised == [FIVE_MB]
    assert bench.rows_read == 2


async def test_another_run_goes_on_where_the_service_is():
    bench = Bench(MemoryFile(FIVE_MB))
    bench.companion.breaks = [*[None] * 7, Break.CANCEL_AFTER]
    with pytest.raises(Cancelled):
        await bench.run()
    bench.companion.calls.clear()
    await bench.run()
    left = -(-(len(FIVE_MB) - received_after(7)) // SLICE)
    assert bench.companion.calls == ["query", *["slice"] * left, "finish"]
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
