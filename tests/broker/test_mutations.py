"""A write's life, on a virtual clock and a real journal file (ADR-005)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from broker.errors import (
    AccountMismatch,
    CallCancelled,
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    MutationUnknown,
    RateLimited,
    TabDiscarded,
)
from broker.journal_states import State
from broker.mutations import ANSWER_WITHIN_S, OTHERS_WITHIN_S, Mutation, Refused, Result, StillRunning
from tests.broker.mutation_helpers import Fate, Notebook, Writer, inline_journal, open_writer, request


def states(home: Path) -> list[State]:
    return [record.state for record in inline_journal(home)._store.records()]  # pyright: ignore[reportPrivateUsage]


async def test_same_key_and_payload_returns_the_stored_result(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook()
    async with open_writer(tmp_path, notebook) as writer:
        assert await writer.create() == {"made": "id-1", "replayed": False}
        assert await writer.create() == {"made": "id-1", "replayed": True}
    assert notebook.requests == ["n"]


async def test_same_key_after_a_restart_returns_the_stored_result(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook()
    async with open_writer(tmp_path, notebook) as writer:
        await writer.create()
    async with open_writer(tmp_path, notebook, owner="another") as writer:
        assert await writer.create() == {"made": "id-1", "replayed": True}
    assert notebook.requests == ["n"]


async def test_same_key_with_another_payload_is_refused(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook()
    async with open_writer(tmp_path, notebook) as writer:
        await writer.create(name="one")
        with pytest.raises(InvalidArgument, match="other arguments"):
            await writer.create(name="two")
    assert notebook.requests == ["one"]


async def test_another_payload_is_refused_while_the_first_runs(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(takes_s=5)
    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:
        nursery.start_soon(writer.create, "k", "one")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(InvalidArgument, match="other arguments"):
            await writer.create("k", "two")


async def test_c028_second_call_joins_the_first_in_one_process(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(takes_s=0.5)
    results: list[Result] = []
    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:

        async def create() -> None:
            results.append(await writer.create())

        nursery.start_soon(create)
        nursery.start_soon(create)
    assert [result["made"] for result in results] == ["id-1", "id-1"]
    assert sorted(bool(result["replayed"]) for result in results) == [False, True]
    assert notebook.requests == ["n"]


async def test_c028_second_broker_waits_for_the_first_and_replays(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(takes_s=0.5)

    def is_alive(owner: str) -> bool:
        return True

    async with (
        open_writer(tmp_path, notebook, owner="one", is_alive=is_alive) as one,
        open_writer(tmp_path, notebook, owner="two", is_alive=is_alive) as two,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(one.create)
        await trio.testing.wait_all_tasks_blocked()
        assert await two.create() == {"made": "id-1", "replayed": True}
    assert notebook.requests == ["n"]


async def test_a_definite_no_is_stored_and_its_key_is_used_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.REFUSED])
    async with open_writer(tmp_path, notebook) as writer:
        first = await writer.failure()
        again = await writer.failure()
        assert (await writer.create("new key"))["made"] == "id-1"
    assert isinstance(first, RateLimited)
    assert isinstance(again, RateLimited)
    assert first.as_error() == again.as_error()
    assert not first.retryable
    assert "new idempotency_key" in first.hint
    assert notebook.requests == ["n", "n"]


async def test_a_request_that_the_executor_does_not_let_out_is_rejected(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    notebook = Notebook(fates=[Fate.NOT_LET_OUT])
    async with open_writer(tmp_path, notebook) as writer:
        assert isinstance(await writer.failure(), AccountMismatch)
    assert states(tmp_path) == [State.REJECTED]


async def test_a_request_that_had_nothing_to_start_in_gives_its_key_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """ADR-042."""
    notebook = Notebook(fates=[Fate.NEVER_STARTED])
    async with open_writer(tmp_path, notebook) as writer:
        error = await writer.failure()
        assert isinstance(error, TabDiscarded)
        assert error.retryable
        assert states(tmp_path) == [State.PREPARED]
        assert await writer.create() == {"made": "id-1", "replayed": False}


async def test_nothing_is_kept_of_a_write_that_failed_before_it_was_sent(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A browser that is not there yet must not use up the key."""
    notebook = Notebook(offline=True)
    async with open_writer(tmp_path, notebook) as writer:
        assert (await writer.failure()).code == "COMPANION_OFFLINE"
        assert states(tmp_path) == [State.PREPARED]
        notebook.offline = False
        assert await writer.create() == {"made": "id-1", "replayed": False}


async def test_a_lost_answer_is_confirmed_by_looking_back(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.COMMITTED_ANSWER_LOST])
    async with open_writer(tmp_path, notebook) as writer:
        assert await writer.create() == {"made": "id-1", "replayed": False}
    assert notebook.requests == ["n"]


async def test_c025_a_lost_request_stays_unknown_and_is_never_sent_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    notebook = Notebook(fates=[Fate.LOST])
    async with open_writer(tmp_path, notebook) as writer:
        assert isinstance(await writer.failure(), MutationUnknown)
        assert isinstance(await writer.failure(), MutationUnknown)
    async with open_writer(tmp_path, notebook, owner="another") as writer:
        assert isinstance(await writer.failure(), MutationUnknown)
    assert notebook.requests == ["n"]
    assert notebook.things == {}
    assert states(tmp_path) == [State.UNKNOWN]


async def test_a_write_that_lands_late_is_confirmed_by_a_repeat(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(fates=[Fate.LATE])
    async with open_writer(tmp_path, notebook) as writer:
        assert isinstance(await writer.failure(), MutationUnknown)
        await trio.sleep(120)
        assert (await writer.create())["made"] == "id-1"
    assert notebook.requests == ["n"]


async def test_a_call_is_answered_in_time_and_collected_later(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(takes_s=70)
    async with open_writer(tmp_path, notebook) as writer:

        async def write(mutation: Mutation) -> Result:
            mutation.show(stage="slow")
            await mutation.mark_sent("step", {})
            return {"made": await notebook.create("n")}

        began = trio.current_time()
        outcome = await writer.mutations.carry_out(request(), write, writer.say)
        assert outcome == StillRunning({"stage": "slow"})
        assert trio.current_time() - began == pytest.approx(ANSWER_WITHIN_S)
        outcome = await writer.mutations.carry_out(request(), write, writer.say)
        assert outcome == {"made": "id-1", "replayed": True}
        assert {"stage": "slow"} in writer.said


async def test_a_caller_that_leaves_before_anything_was_sent_ends_the_write(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    notebook = Notebook()
    blocked = trio.Event()
    async with open_writer(tmp_path, notebook) as writer:

        async def write(mutation: Mutation) -> Result:
            blocked.set()
            await trio.sleep_forever()
            raise AssertionError("unreachable")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.mutations.carry_out, request(), write, writer.say)
            await blocked.wait()
            nursery.cancel_scope.cancel()
        await writer.mutations.drain()
        assert states(tmp_path) == [State.PREPARED]
        assert (await writer.create())["made"] == "id-1"


async def test_a_caller_that_leaves_after_the_request_left_only_detaches(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    notebook = Notebook(takes_s=5)
    async with open_writer(tmp_path, notebook) as writer:
        with trio.move_on_after(1):
            await writer.create()
        assert await writer.create() == {"made": "id-1", "replayed": True}
    assert notebook.requests == ["n"]


async def test_the_end_of_the_process_leaves_what_was_sent_as_unknown(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    notebook = Notebook(takes_s=1000)
    async with open_writer(tmp_path, notebook) as writer:
        with trio.move_on_after(1):
            await writer.create()
    assert states(tmp_path) == [State.UNKNOWN]


async def test_writes_under_way_can_be_awaited_before_the_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    notebook = Notebook(takes_s=1.5)
    async with open_writer(tmp_path, notebook) as writer:
        with trio.move_on_after(1):
            await writer.create()
        await writer.mutations.drain()
    assert states(tmp_path) == [State.CONFIRMED]


@pytest.mark.parametrize("held_is_joined", [False, True])
async def test_what_a_write_holds_is_released_once(
    tmp_path: Path, autojump_clock: MockClock, held_is_joined: bool
) -> None:
    notebook = Notebook(takes_s=1)
    released: list[str] = []

    async with open_writer(tmp_path, notebook) as writer, trio.open_nursery() as nursery:

        async def write(mutation: Mutation) -> Result:
            assert len(released) == held_is_joined  # the joined call needs nothing
            await mutation.mark_sent("step", {})
            return {"made": await notebook.create("n")}

        async def carry_out(name: str) -> None:
            await writer.mutations.carry_out(
                request(),
                write,
                writer.say,
                release=lambda: released.append(name),
            )

        nursery.start_soon(carry_out, "first")
        if held_is_joined:
            nursery.start_soon(carry_out, "second")
    assert sorted(released) == (["first", "second"] if held_is_joined else ["first"])


async def test_a_write_that_refuses_nothing_sent_says_so(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_writer(tmp_path, Notebook()) as writer:

        async def write(mutation: Mutation) -> Result:
            await mutation.mark_sent("one", {})
            await mutation.prove_step("one", {"remote_id": "x"}, claim="x")
            await mutation.mark_sent("two", {})
            raise Refused(CallCancelled("No."))

        with pytest.raises(CallCancelled) as caught:
            await writer.mutations.carry_out(request(), write, writer.say)
    assert "stays in the notebook" in caught.value.hint


async def test_a_session_that_is_stopped_in_the_middle_of_the_same_write_is_not_waited_for_forever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It may wake up and send, so its row is nobody else's; but a caller must hear of it some day."""
    sleeper = inline_journal(tmp_path, "sleeper")
    begun = await sleeper.begin(request())
    await sleeper.mark_sent(begun.record.id, "create", {"before": []})
    notebook = Notebook()
    async with open_writer(tmp_path, notebook, is_alive=lambda owner: True) as writer:
        error = await hear_the_end(writer)
    assert isinstance(error, DeadlineExceeded)
    assert not error.started
    assert notebook.requests == []


async def test_a_session_that_is_stopped_while_it_has_the_turn_is_not_waited_for_forever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    sleeper = inline_journal(tmp_path, "sleeper")
    begun = await sleeper.begin(request("another key"))
    assert await sleeper.try_lease(begun.record.id, "thing")
    notebook = Notebook()
    async with open_writer(tmp_path, notebook, is_alive=lambda owner: True) as writer:
        error = await hear_the_end(writer)
    assert isinstance(error, DeadlineExceeded)
    assert notebook.requests == []


async def hear_the_end(writer: Writer) -> GatewayError:
    """Repeat the call for as long as it says that it is running."""
    while True:
        try:
            outcome = await writer.ask()
        except GatewayError as error:
            return error
        assert isinstance(outcome, StillRunning)
        assert trio.current_time() < 2 * OTHERS_WITHIN_S
