"""The waiting around a stream: silence, broken connections, HTTP errors that come as text."""

from __future__ import annotations

import math
from typing import Any

import pytest
import trio

from broker.answer_stream import AnswerState, Phase
from broker.answer_updates import AnswerUpdates
from broker.calls import CallContext
from broker.errors import (
    AccountMismatch,
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    RateLimited,
    StreamSevered,
    TabDiscarded,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.fake_companion import FakeChunks, Stall, StreamScript, stream_body
from broker.limits import STREAM_IDLE_S, STREAM_TAIL_S
from broker.rpc_status import StaleToken
from tests.broker.answers import answer, citation

FINAL = answer("Half and whole [1]", ["Half and whole"], [citation("a", "q", 0)], [(0, 4, [0])], final=True)
WHOLE = stream_body([answer("Half", ["Half"]), FINAL])
HALF = WHOLE[: WHOLE.rindex('[["wrb.fr"')]


class SlowChunks(FakeChunks):
    """Lets `gap_s` pass before each piece."""

    def __init__(self, script: StreamScript, gap_s: float) -> None:
        super().__init__(script, math.inf)
        self._gap_s = gap_s

    async def __anext__(self) -> str:
        await trio.sleep(self._gap_s)
        return await super().__anext__()


def updates_of(*pieces: Any, timeout_s: float = math.inf, **script: Any) -> AnswerUpdates:
    chunks = FakeChunks(StreamScript(pieces, **script), math.inf)
    return AnswerUpdates(chunks, CallContext(trio.current_time() + timeout_s, "00-trace"))


async def collect(updates: AnswerUpdates) -> list[AnswerState]:
    return [state async for state in updates]


async def test_states_come_in_order_and_the_conversation_at_the_end() -> None:
    updates = updates_of(*WHOLE)
    await updates.start()
    assert updates.conversation is None
    states = await collect(updates)
    assert [state.phase for state in states] == [Phase.ANSWER, Phase.FINAL]
    assert updates.conversation == "c0ffee00-0000-4000-8000-000000000001"


async def test_c064_a_silent_stall_is_severed_at_the_ceiling(autojump_clock: trio.testing.MockClock) -> None:
    updates = updates_of(HALF, Stall())
    begun = trio.current_time()
    with pytest.raises(StreamSevered, match="240 s") as caught:
        await collect(updates)
    assert trio.current_time() - begun == STREAM_IDLE_S
    assert caught.value.details["partial_text"] == "Half"


async def test_each_piece_moves_the_ceiling(autojump_clock: trio.testing.MockClock) -> None:
    """Five pieces of 200 s each: 1000 s in all, and no silence longer than the ceiling."""
    pieces = [WHOLE[start : start + len(WHOLE) // 4] for start in range(0, len(WHOLE), len(WHOLE) // 4)]
    chunks = SlowChunks(StreamScript(pieces), STREAM_IDLE_S - 40)
    updates = AnswerUpdates(chunks, CallContext(math.inf, "00-trace"))
    assert (await collect(updates))[-1].phase == Phase.FINAL
    assert trio.current_time() > 3 * STREAM_IDLE_S


async def test_the_deadline_of_the_call_holds_too(autojump_clock: trio.testing.MockClock) -> None:
    updates = updates_of(HALF, Stall(), timeout_s=10)
    with pytest.raises(StreamSevered, match="time for this question") as caught:
        await collect(updates)
    assert caught.value.details["partial_text"] == "Half"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (CompanionOffline("gone"), "COMPANION_OFFLINE"),
        (TabDiscarded("closed"), "TAB_DISCARDED"),
        (DeadlineExceeded("late"), "TIMEOUT"),
    ],
)
async def test_c064_a_connection_that_breaks_severs_the_stream(error: GatewayError, cause: str) -> None:
    with pytest.raises(StreamSevered) as caught:
        await collect(updates_of(HALF, error))
    assert caught.value.details == {"cause": cause, "partial_text": "Half"}


async def test_a_pause_in_the_middle_of_an_answer_is_called_a_pause() -> None:
    paused = CompanionOffline("paused by the person", details={"reason": "paused"})
    with pytest.raises(CompanionOffline) as caught:
        await collect(updates_of(HALF, paused))
    assert caught.value.details["reason"] == "paused"


async def test_a_severed_stream_of_the_companion_gets_its_partial_text() -> None:
    with pytest.raises(StreamSevered) as caught:
        await collect(updates_of(HALF, StreamSevered("the worker ended it")))
    assert caught.value.details["partial_text"] == "Half"


@pytest.mark.parametrize("error", [CompanionOffline("no browser", started=False), AccountMismatch("other account")])
async def test_an_error_before_anything_was_sent_stays_what_it_is(error: GatewayError) -> None:
    with pytest.raises(type(error)):
        await updates_of(error).start()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, StaleToken), (401, StaleToken), (403, StaleToken), (429, RateLimited), (500, UpstreamRejected)],
)
@pytest.mark.parametrize("body", ["<html>\nerror\n", "Too many requests\n", "", "{}"])
async def test_an_http_error_counts_and_not_its_body(status: int, kind: type[GatewayError], body: str) -> None:
    with pytest.raises(kind):
        await updates_of(body, status=status, retry_after_s=7.0).start()


async def test_a_page_with_status_200_is_a_sign_in_page() -> None:
    with pytest.raises(GatewayError, match="signed out"):
        await updates_of("<html>\n", "more\n").start()


async def test_another_format_is_drift_even_if_the_stream_never_ends(autojump_clock: trio.testing.MockClock) -> None:
    begun = trio.current_time()
    with pytest.raises(UpstreamSchemaDrift):
        await updates_of("no number\n", Stall()).start()
    assert trio.current_time() - begun == STREAM_TAIL_S


async def test_a_final_answer_does_not_wait_for_a_stream_that_stays_open(
    autojump_clock: trio.testing.MockClock,
) -> None:
    updates = updates_of(WHOLE[: WHOLE.rindex('[["e"')], Stall())
    begun = trio.current_time()
    assert (await collect(updates))[-1].phase == Phase.FINAL
    assert trio.current_time() - begun == STREAM_TAIL_S
    assert updates.conversation is None


async def test_a_connection_that_breaks_behind_the_final_answer_costs_nothing_but_the_conversation() -> None:
    updates = updates_of(WHOLE, CompanionOffline("gone"))
    assert (await collect(updates))[-1].phase == Phase.FINAL
    assert updates.conversation is None


async def test_hops_are_added_once() -> None:
    ctx = CallContext(math.inf, "00-trace")
    updates = AnswerUpdates(FakeChunks(StreamScript([WHOLE]), math.inf), ctx)
    await collect(updates)
    assert ctx.hops == {"fetch_ms": 1.0}
