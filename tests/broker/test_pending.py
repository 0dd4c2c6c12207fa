import math

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from broker.errors import CompanionOffline, DeadlineExceeded, GatewayError, NotFound, RateLimited, StreamSevered
from broker.pending import MAX_STREAM_QUEUE_CHARS, OpenCall, PendingCalls
from broker.relay_frames import BadHostFrame, Chunk, Result, WireError
from broker.spans import OpenSpan

SPAN = OpenSpan("request", "rpc", "00-x", None)


def result(call_id: int, value: object = None) -> Result:
    return Result(call_id, value, None, {})


def test_ids_count_up_and_are_never_used_twice() -> None:
    pending = PendingCalls(limit=1)
    ids = list[int]()
    for _ in range(3):
        call = pending.open("rpc", 9.0, SPAN)
        ids.append(call.id)
        pending.maybe_resolve(result(call.id))
    assert ids == [1, 2, 3]


def test_the_33rd_open_call_is_refused_before_anything_is_sent_and_a_free_place_is_used_again() -> None:
    pending = PendingCalls()
    calls = [pending.open("rpc", 9.0, SPAN) for _ in range(32)]
    with pytest.raises(RateLimited, match="32") as caught:
        pending.open("rpc", 9.0, SPAN)
    assert not caught.value.started
    assert caught.value.details["retry_after_s"] > 0
    pending.maybe_resolve(result(calls[5].id))
    assert pending.open("rpc", 9.0, SPAN).id == 33


def test_a_call_has_one_result_and_later_ones_are_dropped() -> None:
    pending = PendingCalls()
    call = pending.open("rpc", 9.0, SPAN)
    first = result(call.id, "first")
    assert pending.maybe_resolve(first) is call
    assert pending.maybe_resolve(result(call.id, "second")) is None
    assert not pending.settle(call, DeadlineExceeded("late"))
    assert call.result() is first


def test_an_answer_after_the_deadline_is_dropped() -> None:
    pending = PendingCalls()
    call = pending.open("rpc", 9.0, SPAN)
    assert pending.settle(call, DeadlineExceeded("late"))
    assert pending.maybe_resolve(result(call.id)) is None
    assert pending.maybe_add_chunk(Chunk(call.id, 0, "x")) is None
    with pytest.raises(DeadlineExceeded):
        call.result()


def test_an_error_on_the_wire_is_raised_as_its_class() -> None:
    pending = PendingCalls()
    call = pending.open("rpc", 9.0, SPAN)
    pending.maybe_resolve(Result(call.id, None, WireError("NOT_FOUND", "gone", {}, started=True), {}))
    with pytest.raises(NotFound, match="gone"):
        call.result()


@pytest.mark.parametrize("call_id", [0, -1, 2])
def test_an_answer_to_a_call_that_was_never_made_is_a_breach(call_id: int) -> None:
    pending = PendingCalls()
    pending.open("stream", 9.0, SPAN, is_stream=True)
    with pytest.raises(BadHostFrame):
        pending.maybe_resolve(result(call_id))
    with pytest.raises(BadHostFrame):
        pending.maybe_add_chunk(Chunk(call_id, 0, "x"))


def test_a_chunk_for_a_call_that_is_no_stream_is_a_breach() -> None:
    pending = PendingCalls()
    call = pending.open("rpc", 9.0, SPAN)
    with pytest.raises(BadHostFrame, match="rpc"):
        pending.maybe_add_chunk(Chunk(call.id, 0, "x"))


@pytest.mark.parametrize("seq", [0, 2, -1])
def test_a_chunk_out_of_order_severs_its_stream_and_keeps_what_had_come(seq: int) -> None:
    pending = PendingCalls()
    call = pending.open("stream", 9.0, SPAN, is_stream=True)
    pending.maybe_add_chunk(Chunk(call.id, 0, "a"))
    assert pending.maybe_add_chunk(Chunk(call.id, seq, "b")) is call
    assert isinstance(call.outcome, StreamSevered)
    assert call.take_chunk() == "a"
    assert call.take_chunk() is None
    assert len(pending) == 0


def test_a_stream_that_nobody_reads_is_severed_and_other_calls_are_not() -> None:
    pending = PendingCalls()
    idle = pending.open("stream", 9.0, SPAN, is_stream=True)
    busy = pending.open("stream", 9.0, SPAN, is_stream=True)
    piece = "x" * (MAX_STREAM_QUEUE_CHARS // 4)
    for seq in range(5):
        pending.maybe_add_chunk(Chunk(idle.id, seq, piece))
        pending.maybe_add_chunk(Chunk(busy.id, seq, piece))
        busy.take_chunk()
    assert isinstance(idle.outcome, StreamSevered)
    assert busy.outcome is None
    assert [idle.take_chunk() for _ in range(5)] == [piece] * 4 + [None]


def test_the_next_deadline_is_the_earliest_of_the_open_calls() -> None:
    pending = PendingCalls()
    assert pending.next_deadline() == math.inf
    late, early = pending.open("rpc", 9.0, SPAN), pending.open("rpc", 4.0, SPAN)
    assert pending.next_deadline() == 4.0
    assert pending.past_deadline(3.9) == []
    assert pending.past_deadline(4.0) == [early]
    pending.maybe_resolve(result(early.id))
    assert pending.past_deadline(9.5) == [late]


def test_the_end_of_the_connection_ends_every_open_call_with_its_own_error() -> None:
    pending = PendingCalls()
    done, rpc = pending.open("rpc", 9.0, SPAN), pending.open("rpc", 9.0, SPAN)
    stream = pending.open("stream", 9.0, SPAN, is_stream=True)
    pending.maybe_resolve(result(done.id))

    def why(call: OpenCall) -> GatewayError:
        return StreamSevered("eof") if call.chunks is not None else CompanionOffline("eof")

    assert pending.reject_all(why) == [rpc, stream]
    assert isinstance(done.outcome, Result)
    assert isinstance(rpc.outcome, CompanionOffline)
    assert isinstance(stream.outcome, StreamSevered)
    assert pending.reject_all(why) == []


class AgainstANaiveModel(RuleBasedStateMachine):
    """Any order of frames, deadlines and ends: one outcome per call, chunks complete and in order before it."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.pending = PendingCalls(limit=4)
        self.outcomes: dict[int, object] = {}
        self.sent: dict[int, str] = {}
        self.read: dict[int, str] = {}

    @precondition(lambda self: len(self.pending) < 4)
    @rule(target=calls)
    def open_stream(self) -> OpenCall:
        call = self.pending.open("stream", 1.0, SPAN, is_stream=True)
        self.sent[call.id] = self.read[call.id] = ""
        return call

    @rule(call=calls, text=st.text(max_size=3))
    def chunk(self, call: OpenCall, text: str) -> None:
        if self.pending.maybe_add_chunk(Chunk(call.id, call.next_seq, text)) is not None:
            self.sent[call.id] += text

    @rule(call=calls)
    def read_one(self, call: OpenCall) -> None:
        self.read[call.id] += call.take_chunk() or ""

    @rule(call=calls, value=st.integers())
    def answer(self, call: OpenCall, value: int) -> None:
        frame = result(call.id, value)
        was_open = self.pending.maybe_resolve(frame) is not None
        assert was_open == (call.id not in self.outcomes)
        self.outcomes.setdefault(call.id, frame)

    @rule(call=consumes(calls))
    def give_up(self, call: OpenCall) -> None:
        error = DeadlineExceeded("late")
        assert self.pending.settle(call, error) == (call.id not in self.outcomes)
        self.outcomes.setdefault(call.id, error)

    @rule()
    def lose_the_connection(self) -> None:
        error = CompanionOffline("eof")
        for call in self.pending.reject_all(lambda _: error):
            assert call.id not in self.outcomes
            self.outcomes[call.id] = error

    @invariant()
    def open_calls_are_exactly_those_without_an_outcome(self) -> None:
        assert {call.id for call in self.pending} == self.sent.keys() - self.outcomes.keys()
        assert all(call.outcome is None for call in self.pending)

    @invariant()
    def what_was_read_is_a_beginning_of_what_was_sent(self) -> None:
        assert all(self.sent[call_id].startswith(text) for call_id, text in self.read.items())


TestAgainstANaiveModel = AgainstANaiveModel.TestCase
