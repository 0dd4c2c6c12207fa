"""Every rule of a question's life, on a virtual clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from broker.errors import (
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    InternalError,
    InvalidArgument,
    RateLimited,
    StreamSevered,
    UngroundedResponse,
)
from broker.query_runs import (
    ANSWER_WITHIN_S,
    KEEP_FINISHED_S,
    MAX_FINISHED,
    MAX_RUNNING,
    UNATTENDED_S,
    QueryRuns,
    Question,
    Result,
    StillRunning,
)

QUESTION = Question("nb", "why?", None)


class Asker:
    """Stands for the service: counts how often it is asked, and answers after `takes_s`."""

    def __init__(self, takes_s: float = 0.0, outcome: Result | Exception | None = None) -> None:
        self.takes_s = takes_s
        self.outcome: Result | Exception = outcome or {"answer": "because"}
        self.asked = 0

    async def __call__(self, set_partial_text: Callable[[str], None]) -> Result:
        self.asked += 1
        set_partial_text("be")
        await trio.sleep(self.takes_s)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@asynccontextmanager
async def open_runs() -> AsyncGenerator[QueryRuns]:
    async with trio.open_nursery() as nursery:
        yield QueryRuns(nursery)
        nursery.cancel_scope.cancel()


async def _ignore(text: str) -> None:
    await trio.lowlevel.checkpoint()


async def ask(runs: QueryRuns, asker: Asker, key: str = "k", question: Question = QUESTION) -> Result | StillRunning:
    return await runs.ask(key, question, asker, _ignore)


async def test_a_quick_answer_comes_with_the_call(autojump_clock: MockClock):
    async with open_runs() as runs:
        assert await ask(runs, Asker(3.0)) == {"answer": "because"}
        assert repr(runs) == "<QueryRuns 0 running, 1 finished>"


async def test_after_45_s_the_call_returns_and_the_same_call_collects(autojump_clock: MockClock):
    asker = Asker(100.0)
    async with open_runs() as runs:
        started_at = trio.current_time()
        assert await ask(runs, asker) == StillRunning("be")
        assert trio.current_time() - started_at == ANSWER_WITHIN_S
        assert await ask(runs, asker) == StillRunning("be")
        assert await ask(runs, asker) == {"answer": "because"}
        assert trio.current_time() - started_at == 100.0
        assert asker.asked == 1


async def test_c005_a_cancelled_call_only_detaches(autojump_clock: MockClock):
    asker = Asker(30.0)
    async with open_runs() as runs:
        with trio.move_on_after(1.0):
            await ask(runs, asker)
        await trio.sleep(60.0)
        assert await ask(runs, asker) == {"answer": "because"}
        assert asker.asked == 1


async def test_calls_at_the_same_time_share_one_run(autojump_clock: MockClock):
    asker = Asker(5.0)
    answers: list[Result | StillRunning] = []
    async with open_runs() as runs:

        async def call() -> None:
            answers.append(await ask(runs, asker))

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(call)
        assert answers == [{"answer": "because"}] * 10
        assert asker.asked == 1


@pytest.mark.parametrize(
    "other",
    [Question("nb", "why not?", None), Question("other", "why?", None), Question("nb", "why?", frozenset({"s"}))],
)
async def test_a_key_is_bound_to_its_question(other: Question, autojump_clock: MockClock):
    asker = Asker(500.0)
    async with open_runs() as runs:
        await ask(runs, asker)
        with pytest.raises(InvalidArgument, match="request_key"):
            await ask(runs, asker, question=other)
        assert asker.asked == 1


async def test_a_run_nobody_collects_ends_and_its_key_says_so(autojump_clock: MockClock):
    asker = Asker(1000.0)
    async with open_runs() as runs:
        assert await ask(runs, asker) == StillRunning("be")
        await trio.sleep(UNATTENDED_S - 1)
        assert repr(runs) == "<QueryRuns 1 running, 0 finished>"
        await trio.sleep(2)
        assert repr(runs) == "<QueryRuns 0 running, 1 finished>"
        for _ in range(2):
            with pytest.raises(DeadlineExceeded, match="Nobody collected") as caught:
                await ask(runs, asker)
            assert caught.value.details == {"partial_text": "be"}
        assert asker.asked == 1


async def test_coming_back_in_time_keeps_a_run_alive(autojump_clock: MockClock):
    asker = Asker(400.0)
    async with open_runs() as runs:
        await ask(runs, asker)
        for _ in range(3):
            await trio.sleep(UNATTENDED_S - 60)
            assert isinstance(await ask(runs, asker), StillRunning)
        await trio.sleep(100)
        assert await ask(runs, asker) == {"answer": "because"}


async def test_a_finished_answer_is_kept_a_quarter_of_an_hour(autojump_clock: MockClock):
    asker = Asker()
    async with open_runs() as runs:
        await ask(runs, asker)
        await trio.sleep(KEEP_FINISHED_S - 1)
        await ask(runs, asker)
        assert asker.asked == 1
        await trio.sleep(2)
        await ask(runs, asker)
        assert asker.asked == 2


async def test_finished_answers_are_bounded_oldest_first(autojump_clock: MockClock):
    asker = Asker()
    async with open_runs() as runs:
        for number in range(MAX_FINISHED + 5):
            await ask(runs, asker, key=f"k{number}")
            await trio.sleep(1)
        assert repr(runs) == f"<QueryRuns 0 running, {MAX_FINISHED} finished>"
        asked = asker.asked
        await ask(runs, asker, key="k10")
        assert asker.asked == asked
        await ask(runs, asker, key="k0")
        assert asker.asked == asked + 1


async def test_too_many_questions_at_once_are_refused(autojump_clock: MockClock):
    asker = Asker(100.0)
    async with open_runs() as runs, trio.open_nursery() as nursery:
        for number in range(MAX_RUNNING):
            nursery.start_soon(ask, runs, asker, f"k{number}")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RateLimited):
            await ask(runs, asker, key="one more")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("spent", [StreamSevered("cut"), UngroundedResponse("none"), ValueError("ours")])
async def test_a_failure_after_the_question_was_taken_stays_and_is_not_asked_again(
    spent: Exception, autojump_clock: MockClock
):
    asker = Asker(outcome=spent)
    async with open_runs() as runs:
        for _ in range(3):
            with pytest.raises(InternalError if isinstance(spent, ValueError) else type(spent)):
                await ask(runs, asker)
        assert asker.asked == 1


@pytest.mark.parametrize("refused", [CompanionOffline("gone", started=False), RateLimited("quota")])
async def test_after_a_definite_refusal_the_same_key_may_try_again(refused: GatewayError, autojump_clock: MockClock):
    asker = Asker(outcome=refused)
    async with open_runs() as runs:
        with pytest.raises(type(refused)):
            await ask(runs, asker)
        asker.outcome = {"answer": "at last"}
        assert await ask(runs, asker) == {"answer": "at last"}


async def test_a_refusal_that_nobody_heard_is_told_before_the_key_is_free(autojump_clock: MockClock):
    asker = Asker(60.0, outcome=RateLimited("quota"))
    async with open_runs() as runs:
        await ask(runs, asker)
        await trio.sleep(30)
        with pytest.raises(RateLimited):
            await ask(runs, asker)
        assert asker.asked == 1


async def test_the_growing_text_is_told_to_everybody_who_waits(autojump_clock: MockClock):
    heard: list[str] = []

    async def work(set_partial_text: Callable[[str], None]) -> Result:
        for text in ("one", "one two", "one, two"):
            await trio.sleep(1)
            set_partial_text(text)
        await trio.sleep(1)
        return {"answer": "one, two"}

    async def on_text(text: str) -> None:
        await trio.lowlevel.checkpoint()
        heard.append(text)

    async with open_runs() as runs:
        assert await runs.ask("k", QUESTION, work, on_text) == {"answer": "one, two"}
    assert heard == ["one", "one two", "one, two"]


async def test_runs_end_with_the_broker(autojump_clock: MockClock):
    ended = trio.Event()

    async def work(set_partial_text: Callable[[str], None]) -> Result:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with open_runs() as runs:
        with trio.move_on_after(1):
            await runs.ask("k", QUESTION, work, _ignore)
    assert ended.is_set()
