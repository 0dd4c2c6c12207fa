import socket
from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker.errors import CompanionOffline, DeadlineExceeded, StreamSevered
from broker.exchange import DIRECT_CALLS, Exchange
from broker.frame_writer import FrameWriter
from broker.link_down import LinkDown
from broker.pending import OpenCall
from broker.relay_frames import BadHostFrame, Chunk, Result
from tests.broker.relay_helpers import ACCOUNT, TRACEPARENT, in_s


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, peer = socket.socketpair()
    ours.setblocking(False)
    peer.setblocking(False)
    with ours, peer:
        yield ours, peer


class Bench:
    """An exchange over a socket pair, without the tasks of a link."""

    def __init__(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self.sock, self.peer = pair
        self.writer = FrameWriter(self.sock)
        self.downs = 0
        self.exchange = Exchange(self.writer, self._on_down)

    def _on_down(self) -> None:
        self.downs += 1

    def start(self, text: str = "", *, timeout_s: float = 10, is_stream: bool = False) -> OpenCall:
        params: dict[str, object] = {"text": text}
        return self.exchange.start(
            "stream" if is_stream else "rpc",
            params,
            notebook=None,
            account=ACCOUNT,
            deadline_s=in_s(timeout_s),
            traceparent=TRACEPARENT,
            is_stream=is_stream,
        )

    def arrived(self) -> bytes:
        try:
            return self.peer.recv(1 << 20)
        except BlockingIOError:
            return b""


@pytest.fixture
async def bench(pair: tuple[socket.socket, socket.socket]) -> Bench:
    return Bench(pair)


async def test_the_first_calls_leave_at_once_and_those_beside_many_leave_together(
    bench: Bench, nursery: trio.Nursery
) -> None:
    for n in range(DIRECT_CALLS):
        bench.start(f"call-{n}")
        assert b"call-%d" % n in bench.arrived()
    bench.start("together-1")
    bench.start("together-2")
    assert bench.arrived() == b""
    nursery.start_soon(bench.writer.run)
    await wait_all_tasks_blocked()
    data = bench.arrived()
    assert b"together-1" in data
    assert b"together-2" in data


async def test_a_socket_that_breaks_on_the_first_byte_proves_that_the_call_never_left(bench: Bench) -> None:
    waiting = bench.start("left")
    bench.peer.close()
    call = bench.start("never left")
    assert isinstance(call.outcome, CompanionOffline)
    assert not call.outcome.started
    assert isinstance(waiting.outcome, CompanionOffline)
    assert waiting.outcome.started
    assert bench.downs == 1
    with pytest.raises(CompanionOffline):
        bench.start("after the end")


async def test_going_down_twice_keeps_the_first_reason(bench: Bench) -> None:
    stream = bench.start(is_stream=True)
    bench.exchange.go_down(LinkDown("first"))
    bench.exchange.go_down(LinkDown("second"))
    assert isinstance(stream.outcome, StreamSevered)
    assert "first" in stream.outcome.message
    assert bench.downs == 1
    bench.exchange.send(b"nothing is sent any more")
    assert b"nothing" not in bench.arrived()
    assert repr(bench.exchange) == "<Exchange down: first, 0 calls>"


async def test_forgetting_an_ended_call_sends_nothing(bench: Bench) -> None:
    call = bench.start()
    bench.exchange.take_result(Result(call.id, "value", None, {}))
    bench.arrived()
    bench.exchange.forget(call)
    assert bench.arrived() == b""
    assert call.result().value == "value"


async def test_a_chunk_out_of_order_cancels_its_stream(bench: Bench) -> None:
    call = bench.start(is_stream=True)
    bench.arrived()
    bench.exchange.take_chunk(Chunk(call.id, 1, "too early"))
    assert isinstance(call.outcome, StreamSevered)
    assert b'"cancel"' in bench.arrived()


async def test_answers_to_calls_that_were_never_made_are_a_breach(bench: Bench) -> None:
    with pytest.raises(BadHostFrame):
        bench.exchange.take_result(Result(1, None, None, {}))
    with pytest.raises(BadHostFrame):
        bench.exchange.take_chunk(Chunk(1, 0, ""))


async def test_the_alarm_follows_the_earliest_deadline(
    bench: Bench, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    nursery.start_soon(bench.exchange.end_late_calls)
    await wait_all_tasks_blocked()
    late, early = bench.start(timeout_s=9), bench.start(timeout_s=3)
    await trio.sleep(3.5)
    assert isinstance(early.outcome, DeadlineExceeded)
    assert late.outcome is None
    bench.start(timeout_s=1)
    await trio.sleep(6)
    assert isinstance(late.outcome, DeadlineExceeded)
