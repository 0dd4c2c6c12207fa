from __future__ import annotations

import fcntl
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
import trio.testing
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from broker.calls import CallContext
from broker.companion import RpcReply
from broker.errors import RateLimited
from broker.fake_companion import FakeCompanion, reply_body
from broker.request_budget import (
    LOCK_PATIENCE_S,
    MAX_BACK_OFF_S,
    WINDOW_S,
    Limits,
    RequestBudget,
    Spending,
    decode_spending,
    encode_spending,
    spending_file,
)
from broker.rpc_status import http_error
from broker.upstream import Upstream

ACCOUNT = "ada@example.com"
NOTEBOOK_ID = "1a2b3c4d-0001-4a00-8b00-00000000000a"


@define
class Clock:
    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


def limits(per_minute: int, account: str = ACCOUNT) -> Callable[[], Awaitable[Limits]]:
    async def get() -> Limits:
        return Limits(account, per_minute)

    return get


def budget(home: Path, clock: Clock, per_minute: int = 3, account: str = ACCOUNT) -> RequestBudget:
    return RequestBudget(home, limits(per_minute, account), clock=clock, rng=Random(1))


def call() -> CallContext:
    return CallContext.starting_now(60, "00-trace")


async def refusal_of(one: RequestBudget, ctx: CallContext | None = None) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        await one.spend(ctx or call(), is_write=False)
    return caught.value


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 8))
def test_no_minute_ever_holds_more_than_the_budget(pauses_s: list[float], per_minute: int) -> None:
    now_s, spending, sent = 1000.0, Spending(), list[float]()
    for pause_s in pauses_s:
        now_s += pause_s
        spending = spending.at(now_s)
        if not spending.wait_s(now_s, per_minute):
            spending = spending.with_request(now_s)
            sent.append(now_s)
    assert all(sum(start <= each < start + WINDOW_S for each in sent) <= per_minute for start in sent)


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 8))
def test_who_waits_as_long_as_told_is_let_through_then(pauses_s: list[float], per_minute: int) -> None:
    now_s, spending = 1000.0, Spending()
    for pause_s in pauses_s:
        now_s += pause_s
        now_s += spending.at(now_s).wait_s(now_s, per_minute)
        spending = spending.at(now_s)
        assert spending.wait_s(now_s, per_minute) == 0.0
        spending = spending.with_request(now_s)


async def test_all_brokers_of_an_account_share_one_budget(tmp_path: Path) -> None:
    clock = Clock()
    first, second = budget(tmp_path, clock), budget(tmp_path, clock)
    for one in (first, second, first):
        await one.spend(call(), is_write=False)
    clock.now_s += 20
    error = await refusal_of(second)
    assert error.details == {"limit": "budget", "retry_after_s": 40.0}
    assert (error.started, error.retryable) == (False, True)
    assert "requests_per_minute" in error.hint
    clock.now_s += 40
    await second.spend(call(), is_write=False)


async def test_another_account_has_a_budget_of_its_own(tmp_path: Path) -> None:
    clock = Clock()
    await budget(tmp_path, clock, 1).spend(call(), is_write=False)
    await refusal_of(budget(tmp_path, clock, 1))
    await budget(tmp_path, clock, 1, "bob@example.com").spend(call(), is_write=False)


async def test_a_call_that_has_begun_is_never_refused_half_way_but_all_of_it_counts(tmp_path: Path) -> None:
    one, ctx = budget(tmp_path, Clock(), 2), call()
    for _ in range(4):
        await one.spend(ctx.with_timeout(1), is_write=False)
    await refusal_of(one)
    await one.spend(call(), is_write=True)


async def test_without_a_limit_nothing_is_refused(tmp_path: Path) -> None:
    one = budget(tmp_path, Clock(), 0)
    for _ in range(50):
        await one.spend(call(), is_write=False)


async def test_a_429_makes_every_broker_of_the_account_wait_as_long_as_the_service_says(tmp_path: Path) -> None:
    clock = Clock()
    first, second = budget(tmp_path, clock), budget(tmp_path, clock)
    await first.note(http_error("rLM1Ne", 429, 7.0))
    clock.now_s += 3
    error = await refusal_of(second)
    assert error.details == {"limit": "upstream", "retry_after_s": 4.0}
    assert (await refusal_of(first)).details["retry_after_s"] == 4.0
    await budget(tmp_path, clock, account="bob@example.com").spend(call(), is_write=False)
    clock.now_s += 4
    await first.spend(call(), is_write=False)


async def test_a_read_of_a_running_call_waits_too_and_a_write_that_is_due_leaves(tmp_path: Path) -> None:
    clock, ctx = Clock(), call()
    one = budget(tmp_path, clock)
    await one.spend(ctx, is_write=False)
    await one.note(http_error("rLM1Ne", 429, 7.0))
    await refusal_of(one, ctx)
    await one.spend(ctx, is_write=True)


async def test_without_a_time_of_the_service_the_waits_grow_and_start_small_again_after_quiet(tmp_path: Path) -> None:
    clock = Clock()
    one = budget(tmp_path, clock)
    waits_s: list[float] = []
    for _ in range(9):
        error = http_error("rLM1Ne", 429, None)
        await one.note(error)
        waits_s.append(error.details["retry_after_s"])
        clock.now_s += waits_s[-1]
    ceilings_s = [min(5.0 * 2**step, MAX_BACK_OFF_S) for step in range(9)]
    assert all(
        ceiling_s / 2 - 0.1 <= wait_s <= ceiling_s + 0.1 for wait_s, ceiling_s in zip(waits_s, ceilings_s, strict=True)
    )
    clock.now_s += 121
    error = http_error("rLM1Ne", 429, None)
    await one.note(error)
    assert error.details["retry_after_s"] <= 5.1


async def test_answers_that_come_together_are_one_back_off_and_never_shorten_it(tmp_path: Path) -> None:
    clock = Clock()
    one = budget(tmp_path, clock)
    await one.note(http_error("rLM1Ne", 429, 60.0))
    for _ in range(5):
        await one.note(http_error("rLM1Ne", 429, 2.0))
    assert (await refusal_of(one)).details["retry_after_s"] == 60.0
    assert decode_spending(spending_file(tmp_path, ACCOUNT).read_bytes()).back_offs == 1


async def test_other_refusals_are_no_reason_to_wait(tmp_path: Path) -> None:
    one = budget(tmp_path, Clock())
    for status in (400, 403, 404, 500, 503):
        await one.note(http_error("rLM1Ne", status, 30.0))
    await one.spend(call(), is_write=False)


async def test_a_time_that_is_too_long_is_brought_down(tmp_path: Path) -> None:
    one = budget(tmp_path, Clock())
    await one.note(http_error("rLM1Ne", 429, 1e9))
    assert (await refusal_of(one)).details["retry_after_s"] == MAX_BACK_OFF_S


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"sent_s": "x", "blocked_until_s": 0, "back_offs": 0}', b"\xff"]
)
async def test_a_broken_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    one = budget(tmp_path, Clock(), 1)
    await one.spend(call(), is_write=False)
    spending_file(tmp_path, ACCOUNT).write_bytes(content)
    await one.spend(call(), is_write=False)
    await refusal_of(one)


async def test_what_was_written_before_the_machine_was_started_anew_does_not_count(tmp_path: Path) -> None:
    clock = Clock(500_000.0)
    one = budget(tmp_path, clock, 1)
    await one.spend(call(), is_write=False)
    await one.note(http_error("rLM1Ne", 429, 200.0))
    clock.now_s = 30.0
    await one.spend(call(), is_write=False)


async def test_the_file_is_private_and_does_not_name_the_account(tmp_path: Path) -> None:
    await budget(tmp_path, Clock()).spend(call(), is_write=False)
    path = spending_file(tmp_path, ACCOUNT)
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"ada" not in path.read_bytes()
    assert "ada" not in path.name


async def test_a_broker_that_was_stopped_under_the_lock_holds_nobody_up_for_long(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    one = budget(tmp_path, Clock())
    await one.spend(call(), is_write=False)
    descriptor = os.open(spending_file(tmp_path, ACCOUNT), os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before_s = trio.current_time()
        await one.spend(call(), is_write=False)
        assert trio.current_time() - before_s == pytest.approx(LOCK_PATIENCE_S)
    finally:
        os.close(descriptor)


async def test_a_folder_that_cannot_be_written_stops_no_call(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    await budget(tmp_path, Clock()).spend(call(), is_write=False)


async def test_a_cancel_while_waiting_for_the_lock_leaves_no_descriptor(tmp_path: Path) -> None:
    one = budget(tmp_path, Clock())
    await one.spend(call(), is_write=False)
    descriptor = os.open(spending_file(tmp_path, ACCOUNT), os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = len(os.listdir("/dev/fd"))
        with trio.CancelScope() as scope:
            scope.cancel()
            await one.spend(call(), is_write=False)
        assert scope.cancelled_caught
        assert len(os.listdir("/dev/fd")) == before
    finally:
        os.close(descriptor)


def test_the_file_reads_back_what_was_written() -> None:
    spending = Spending((1.5, 2.25), 77.0, 3)
    assert decode_spending(encode_spending(spending)) == spending


async def test_a_429_on_a_read_is_told_with_a_time_and_the_next_read_does_not_leave(tmp_path: Path) -> None:
    companion = FakeCompanion()
    companion.answer("rLM1Ne", RpcReply(429, ""), reply_body("rLM1Ne", [["Plan", None, NOTEBOOK_ID, "", None, [1]]]))
    upstream = Upstream(companion, budget(tmp_path, Clock()))
    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            await upstream.get_notebook(NOTEBOOK_ID, call())
        assert caught.value.details["retry_after_s"] > 0
    assert len(companion.sent("rLM1Ne")) == 1
