from __future__ import annotations

import json
import math

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from broker.companion import Companion, RpcReply
from broker.errors import CompanionOffline, DeadlineExceeded
from broker.fake_companion import FakeCompanion, Stall, StreamScript, reply_body, rows_body, stream_body
from tests.shared import recordings

NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"


async def ask_rpc(companion: Companion) -> RpcReply:
    return await companion.rpc("x", [1], notebook=None, deadline_s=math.inf, traceparent="00-trace")


async def test_a_script_is_played_and_its_last_entry_stays() -> None:
    companion = FakeCompanion()
    companion.answer("x", "one", RpcReply(429, "two"), CompanionOffline("three"))
    assert (await ask_rpc(companion)).body == "one"
    assert (await ask_rpc(companion)).status == 429
    for _ in range(2):
        with pytest.raises(CompanionOffline):
            await ask_rpc(companion)


async def test_requests_are_kept_as_they_were_sent() -> None:
    companion = FakeCompanion()
    companion.answer("x", "body")
    params = [1]
    await companion.rpc("x", params, notebook=NOTEBOOK, deadline_s=math.inf, traceparent="00-trace")
    params.append(2)
    (request,) = companion.sent("x")
    assert (request.params, request.notebook) == ([1], NOTEBOOK)


async def test_a_passed_deadline_means_that_nothing_was_sent() -> None:
    companion = FakeCompanion()
    with pytest.raises(DeadlineExceeded) as caught:
        await companion.status(deadline_s=trio.current_time() - 1, traceparent="00-trace")
    assert caught.value.started is False
    assert companion.requests == []


async def test_closing_facts_are_known_at_the_end_only() -> None:
    companion = FakeCompanion(streams=[StreamScript(["a", "b"], conversation="c")])
    async with companion.stream([], notebook=NOTEBOOK, deadline_s=math.inf, traceparent="00-trace") as chunks:
        with pytest.raises(RuntimeError):
            _ = chunks.status
        assert [piece async for piece in chunks] == ["a", "b"]
        assert (chunks.status, chunks.conversation) == (200, "c")


async def test_a_stalled_stream_ends_at_its_deadline(autojump_clock: trio.testing.MockClock) -> None:
    companion = FakeCompanion(streams=[StreamScript([Stall()])])
    deadline_s = trio.current_time() + 300
    async with companion.stream([], notebook=NOTEBOOK, deadline_s=deadline_s, traceparent="00-trace") as chunks:
        with pytest.raises(DeadlineExceeded):
            await chunks.__anext__()
    assert trio.current_time() == deadline_s


@pytest.mark.parametrize("rpc_id", ["wXbhsf", "hizoJc"])
def test_its_chunks_are_the_recorded_ones(rpc_id: str) -> None:
    """Large results stand alone in their chunk; ours is then the recorded chunk, length and text."""
    for entry in recordings(rpc_id):
        recorded = entry["response"]["body"].split("\n")
        (row,) = json.loads(recorded[3])
        assert rows_body([row]).split("\n")[:4] == recorded[:4]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), max_size=4))
def test_the_closing_row_states_rows_and_bytes(texts: list[str]) -> None:
    for body, count in ((stream_body(texts), len(texts) + 3), (reply_body("x", texts), 4)):
        end = json.loads(body.rstrip("\n").rpartition("\n")[2])[0]
        assert end == ["e", count, None, None, len(body.encode())]
