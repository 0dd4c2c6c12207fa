"""Playbooks about one connection: handshake, calls, limits, and what happens when the broker does not read."""

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from native_host.protocol import MAX_BROKER_QUEUE_BYTES, MAX_OPEN_CALLS_PER_CONNECTION
from tests.native_host.fakes import HELLO, Frame, call_frame
from tests.native_host.playbook import Play, Step, readable

MEGABYTE = "x" * 1_000_000


def chunk(conn: int, call_id: int, seq: int = 0, data: str = MEGABYTE) -> Frame:
    return {"conn": conn, "type": "chunk", "id": call_id, "seq": seq, "data": data}


def result(conn: int, call_id: int, value: object = 1) -> Frame:
    return {"conn": conn, "type": "result", "id": call_id, "ok": True, "value": value}


@pytest.mark.parametrize("first", [call_frame(1), {"type": "ping", "t": 1}, {"type": "cancel", "id": 1, "reason": ""}])
def test_nothing_is_understood_before_hello(first: Frame) -> None:
    play = Play()
    conn = play.open()
    steps = play.broker(conn, first)
    assert [step[0] for step in steps] == ["to broker", "close"], "the worker never hears of it"
    assert steps[0][2]["message"] == f"{first['type']} is not understood in state NEW"


def test_a_second_hello_is_a_breach() -> None:
    play = Play()
    conn = play.greet()
    assert play.broker(conn, HELLO)[0][2]["code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("v_min", "v_max", "older", "restart"),
    [(0, 0, "the broker is the older one", "the MCP client"), (2, 9, "the native host is the older one", "Chrome")],
)
def test_no_common_version_names_both_builds_and_what_mends_it(
    v_min: int, v_max: int, older: str, restart: str
) -> None:
    play = Play()
    conn = play.open()
    steps = play.broker(conn, {**HELLO, "v_min": v_min, "v_max": v_max, "build": "7.7.7"})
    assert [step[0] for step in steps] == ["to broker", "close"]
    error = steps[0][2]
    assert error["code"] == "VERSION_SKEW"
    for part in ("7.7.7", "0.1.0", older, "pip install --upgrade notebook-gateway", f"restart {restart}"):
        assert part in error["message"]


def test_a_wider_range_of_versions_agrees_on_ours() -> None:
    play = Play()
    steps = play.broker(play.open(), {**HELLO, "v_min": 0, "v_max": 5})
    assert steps[1][2]["v"] == 1


def test_what_a_client_says_of_itself_is_cut_to_the_table() -> None:
    play = Play()
    steps = play.broker(play.open(), {**HELLO, "client": {"name": "a", "version": "b", "more": [1]}, "secret": 1})
    assert steps[0][1]["client"] == {"name": "a", "version": "b"}
    assert "secret" not in steps[0][1]


def test_a_call_before_the_worker_is_ready_has_certainly_not_started() -> None:
    play = Play(is_ready=False)
    conn = play.greet()
    ((_, _, answer),) = play.broker(conn, call_frame(3))
    assert (answer["id"], answer["ok"]) == (3, False)
    assert (answer["error"]["code"], answer["error"]["started"]) == ("COMPANION_OFFLINE", False)


def test_the_thirty_third_open_call_is_refused_and_the_others_go_on() -> None:
    play = Play()
    conn = play.greet()
    for call_id in range(MAX_OPEN_CALLS_PER_CONNECTION):
        assert play.broker(conn, call_frame(call_id))[0][0] == "to worker"
    ((_, _, refused),) = play.broker(conn, call_frame(99))
    assert refused["error"] == {
        "code": "RATE_LIMITED",
        "message": "32 calls of this connection are open already",
        "detail": {"retry_after_ms": 500},
        "started": False,
    }
    play.worker(result(conn, 0))
    assert play.broker(conn, call_frame(99))[0][0] == "to worker"


def test_an_id_that_is_still_open_is_a_breach() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(1))
    assert play.broker(conn, call_frame(1))[0][2]["message"] == "call: id 1 is still open"


def test_an_id_may_be_used_again_after_its_result() -> None:
    play = Play()
    conn = play.greet()
    for _ in range(2):
        assert play.broker(conn, call_frame(1))[0][0] == "to worker"
        assert play.worker(result(conn, 1))[0][0] == "to broker"


def test_a_cancel_goes_to_the_worker_while_the_call_is_open() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(1))
    cancel: Frame = {"type": "cancel", "id": 1, "reason": "deadline"}
    assert play.broker(conn, cancel) == [("to worker", {"conn": conn, **cancel})]
    assert play.worker(result(conn, 1))[0][0] == "to broker", "the call still ends by one result"
    assert play.broker(conn, cancel) == []


def test_chunks_pass_until_the_result() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(1, "stream"))
    assert play.worker(chunk(conn, 1, 0, "a")) == [
        ("to broker", conn, {"type": "chunk", "id": 1, "seq": 0, "data": "a"})
    ]
    play.worker(result(conn, 1))
    assert play.worker(chunk(conn, 1, 1, "b")) == []


def test_an_error_of_the_broker_ends_it_without_an_answer() -> None:
    play = Play()
    conn = play.greet()
    steps = play.broker(conn, {"type": "error", "code": "INTERNAL", "message": "I give up"})
    assert [step[0] for step in steps] == ["forget unsent", "to worker", "close"]
    assert steps[1][1] == {"conn": conn, "type": "conn_close", "reason": "the broker reports INTERNAL"}


@pytest.mark.parametrize(
    "payload",
    [b"{}", b"[]", b"\xff", b'{"type":1}', b'{"type":"call"}', json.dumps(call_frame(-1)).encode()],
    ids=repr,
)
def test_a_bad_message_ends_its_own_connection_only(payload: bytes) -> None:
    play = Play()
    other, conn = play.greet(), play.greet()
    steps = play.broker_payload(conn, payload)
    assert (steps[0][1], steps[0][2]["type"], steps[-1][0]) == (conn, "error", "close")
    assert {step[1] for step in steps if step[0] == "close"} == {conn}
    assert play.broker(other, call_frame(1))[0][0] == "to worker"


def test_a_value_that_chrome_could_not_read_is_refused_before_it_counts_as_a_call() -> None:
    play = Play()
    conn = play.greet()
    frame = json.dumps(call_frame(1, params={"x": float("nan")})).encode()
    assert b"NaN" in frame
    assert play.broker_payload(conn, frame)[0][2]["code"] == "INVALID_ARGUMENT"
    assert "0 calls" in repr(play.relay)


def fill(play: Play, conn: int, call_id: int) -> list[Step]:
    """Send chunks that the broker does not read until one is not queued any more; return what happened then."""
    for seq in range(100):
        steps = play.worker(chunk(conn, call_id, seq))
        if steps[0][:2] != ("to broker", conn) or steps[0][2]["type"] != "chunk":
            assert play.relay.queued_bytes(conn) <= MAX_BROKER_QUEUE_BYTES + 2000
            return steps
    raise AssertionError("no limit")


def test_a_broker_that_does_not_read_loses_its_streams_and_nothing_else() -> None:
    play = Play()
    other, slow = play.greet(), play.greet()
    for conn in (other, slow):
        play.broker(conn, call_frame(1, "stream"))
    play.broker(slow, call_frame(2, "rpc"))
    play.broker(slow, call_frame(3, "stream"))
    steps = fill(play, slow, 1)
    assert [step[0] for step in steps] == ["to worker", "to broker"] * 2
    for step, call_id in zip(steps[::2], (1, 3), strict=True):
        assert step[1] == {"conn": slow, "type": "cancel", "id": call_id, "reason": "the broker does not read"}
    for step, call_id in zip(steps[1::2], (1, 3), strict=True):
        error = step[2]["error"]
        assert (step[1], step[2]["id"], error["code"], error["started"]) == (slow, call_id, "STREAM_SEVERED", True)
    assert play.worker(chunk(slow, 1)) == [], "late words are dropped"
    assert play.worker(result(slow, 1)) == [], "the severed call has had its result"
    assert play.worker(result(slow, 2))[0][0] == "to broker", "a small result still comes through"
    assert play.worker(chunk(other, 1))[0][:2] == ("to broker", other)


def test_the_id_of_a_severed_stream_is_not_free_before_the_worker_is_done_with_it() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(1, "stream"))
    fill(play, conn, 1)
    play.worker(result(conn, 1))
    assert play.broker(conn, call_frame(1))[0][0] == "to worker"


def test_a_large_result_for_a_broker_that_does_not_read_is_replaced_and_may_have_started() -> None:
    play = Play()
    conn = play.greet()
    for call_id in (1, 2):
        play.broker(conn, call_frame(call_id))
    ((_, _, first),) = play.worker(result(conn, 1, "x" * MAX_BROKER_QUEUE_BYTES))
    assert first["ok"] is True, "an idle queue takes any size"
    ((_, _, replaced),) = play.worker(result(conn, 2, MEGABYTE))
    assert (replaced["id"], replaced["error"]["code"], replaced["error"]["started"]) == (2, "STREAM_SEVERED", True)


def test_a_broker_that_reads_gets_everything() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(1, "stream"))
    for seq in range(64):
        assert play.worker(chunk(conn, 1, seq))[0][0] == "to broker"
        play.relay.broker_took(conn, play.relay.queued_bytes(conn))
    assert play.relay.queued_bytes(conn) == 0


class Conversation(RuleBasedStateMachine):
    """One host, three connections, any order of events, against the simplest model of who owes whom a result."""

    def __init__(self) -> None:
        super().__init__()
        self.play = Play()
        self.conns = [self.play.greet() for _ in range(3)]
        # Calls that the worker knows of, and calls that a broker waits for.
        self.in_worker: set[tuple[int, int]] = set()
        self.awaited: set[tuple[int, int]] = set()

    def carry_out(self, steps: list[Step], sender: int) -> None:
        for step in steps:
            if step[0] == "to broker":
                assert step[1] == sender, "a frame reached another connection"
                if step[2]["type"] == "result":
                    self.awaited.remove((step[1], step[2]["id"]))

    @rule(index=st.integers(0, 2), call_id=st.integers(0, 40), op=st.sampled_from(["rpc", "stream"]))
    def call(self, index: int, call_id: int, op: str) -> None:
        conn = self.conns[index]
        if (conn, call_id) in self.awaited | self.in_worker:
            return
        self.awaited.add((conn, call_id))
        steps = self.play.broker(conn, call_frame(call_id, op))
        if steps[0][0] == "to worker":
            self.in_worker.add((conn, call_id))
        self.carry_out(steps, conn)

    @rule(data=st.data(), size=st.sampled_from([1, 100_000, 9_000_000]))
    def worker_answers(self, data: st.DataObject, size: int) -> None:
        if self.in_worker:
            conn, call_id = data.draw(st.sampled_from(sorted(self.in_worker)))
            self.in_worker.remove((conn, call_id))
            self.carry_out(self.play.worker(result(conn, call_id, "x" * size)), conn)

    @rule(data=st.data(), size=st.sampled_from([1, 9_000_000]))
    def worker_streams(self, data: st.DataObject, size: int) -> None:
        if self.in_worker:
            conn, call_id = data.draw(st.sampled_from(sorted(self.in_worker)))
            self.carry_out(self.play.worker(chunk(conn, call_id, data="x" * size)), conn)

    @rule(index=st.integers(0, 2), call_id=st.integers(0, 40))
    def worker_errs(self, index: int, call_id: int) -> None:
        conn = self.conns[index]
        if (conn, call_id) not in self.in_worker:
            assert self.play.worker(result(conn, call_id)) == []

    @rule(index=st.integers(0, 2))
    def broker_reads(self, index: int) -> None:
        conn = self.conns[index]
        self.play.relay.broker_took(conn, self.play.relay.queued_bytes(conn))

    @rule(index=st.integers(0, 2))
    def broker_leaves_and_another_comes(self, index: int) -> None:
        conn = self.conns[index]
        steps = readable(self.play.relay.broker_closed(conn, "left"))
        assert [step[0] for step in steps] == ["forget unsent", "to worker"]
        self.awaited = {call for call in self.awaited if call[0] != conn}
        self.in_worker = {call for call in self.in_worker if call[0] != conn}
        self.conns[index] = self.play.greet()

    @invariant()
    def the_relay_counts_what_the_worker_has(self) -> None:
        assert f", {len(self.in_worker)} calls, " in repr(self.play.relay)

    @invariant()
    def no_queue_grows_without_end(self) -> None:
        for conn in self.conns:
            assert self.play.relay.queued_bytes(conn) <= MAX_BROKER_QUEUE_BYTES + 41 * 66_000


TestConversation = Conversation.TestCase  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
TestConversation.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
