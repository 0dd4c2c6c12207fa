"""Looking back can only confirm (C-075)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from broker.errors import InternalError, MutationUnknown
from tests.broker.mutation_helpers import Fate, Notebook, open_writer


async def test_c075_an_older_thing_of_the_same_name_is_not_ours(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(things={"old": "n"}, fates=[Fate.LOST])
    async with open_writer(tmp_path, notebook) as writer:
        error = await writer.failure()
    assert isinstance(error, MutationUnknown)
    assert error.details["candidates"] == []


async def test_c075_the_new_one_of_two_is_found(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(things={"old": "n"}, fates=[Fate.COMMITTED_ANSWER_LOST])
    async with open_writer(tmp_path, notebook) as writer:
        assert (await writer.create())["made"] == "id-2"


async def test_two_candidates_prove_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.COMMITTED_ANSWER_LOST], takes_s=1)
    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:

        async def add_by_hand() -> None:
            await trio.sleep(0.5)
            notebook.things["by hand"] = "n"

        nursery.start_soon(add_by_hand)
        error = await writer.failure()
    assert isinstance(error, MutationUnknown)
    assert sorted(error.details["candidates"]) == ["by hand", "id-2"]


async def test_a_new_thing_of_another_name_is_not_ours(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.LOST], takes_s=1)
    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:

        async def add_by_hand() -> None:
            await trio.sleep(0.5)
            notebook.things["by hand"] = "other"

        nursery.start_soon(add_by_hand)
        assert isinstance(await writer.failure(), MutationUnknown)


async def test_what_another_write_has_claimed_is_not_found_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.LOST, Fate.DONE])
    async with open_writer(tmp_path, notebook) as writer:
        assert isinstance(await writer.failure("first"), MutationUnknown)
        assert (await writer.create("second"))["made"] == "id-1"
        error = await writer.failure("first")
    assert isinstance(error, MutationUnknown)
    assert error.details["candidates"] == []


async def test_two_unsettled_writes_that_look_alike_stay_unknown(tmp_path: Path, autojump_clock: MockClock) -> None:
    """One thing is there, and either of them could have made it."""
    notebook = Notebook(fates=[Fate.LOST, Fate.COMMITTED_ANSWER_LOST])
    async with open_writer(tmp_path, notebook) as writer:
        assert isinstance(await writer.failure("first"), MutationUnknown)
        error = await writer.failure("second")
        assert isinstance(error, MutationUnknown)
        assert error.details["candidates"] == ["id-1"]
        assert isinstance(await writer.failure("first"), MutationUnknown)


async def test_a_failure_of_looking_back_is_told_beside_the_cause(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.COMMITTED_ANSWER_LOST], takes_s=1)
    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:

        async def pull_the_plug() -> None:
            await trio.sleep(0.5)
            notebook.offline = True

        nursery.start_soon(pull_the_plug)
        error = await writer.failure()
        assert "connection broke" in error.message
        assert "No browser" in error.message
        notebook.offline = False
        assert (await writer.create())["made"] == "id-1"
    assert notebook.requests == ["n"]


async def test_creates_in_one_notebook_take_turns(tmp_path: Path, autojump_clock: MockClock) -> None:
    """So a list from before sending holds everything that earlier writes made."""
    notebook = Notebook(takes_s=1)
    async with open_writer(tmp_path, notebook) as writer:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(writer.create, f"key {number}")
        assert trio.current_time() - began >= 5
    assert len(notebook.things) == 5


async def test_a_request_that_arrived_twice_is_told_and_the_double_left_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """ADR-044: a browser repeats a request by itself when the connection it reused ends without a byte."""
    notebook = Notebook(things={"old": "n"}, fates=[Fate.TWICE])
    async with open_writer(tmp_path, notebook) as writer:
        assert await writer.create() == {"made": "id-3", "doubles": ["id-2"], "replayed": False}
        assert await writer.create() == {"made": "id-3", "doubles": ["id-2"], "replayed": True}
    assert notebook.things.keys() == {"old", "id-2", "id-3"}


async def test_a_journal_that_fails_after_the_answer_is_no_proof_that_nothing_started(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error says that *it* started nothing; the request was answered."""

    async def fail(*_: object) -> frozenset[str]:
        await trio.lowlevel.checkpoint()
        raise InternalError("The journal stayed locked.", retryable=True, started=False)

    notebook = Notebook()
    async with open_writer(tmp_path, notebook) as writer:
        with monkeypatch.context() as locked:
            locked.setattr("broker.journal.Journal.claimed_among", fail)
            assert isinstance(await writer.failure(), MutationUnknown)
        assert (await writer.create())["made"] == "id-1"
    assert notebook.requests == ["n"]
