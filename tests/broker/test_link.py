import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker.companion import AnswerChunks
from broker.errors import (
    AllowlistDenied,
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    InternalError,
    InvalidArgument,
    RateLimited,
    StreamSevered,
    VersionSkew,
)
from broker.fake_host import FakeCall, FakeHost, open_fake_host
from broker.link import HANDSHAKE_TIMEOUT_S, ClientName, Link, open_link
from broker.relay_frames import Event
from native_host.framing import BROKER_HEADER
from native_host.protocol import HEARTBEAT_S
from tests.broker.relay_helpers import ACCOUNT, TRACEPARENT, rpc, socket_path, stream


@pytest.fixture
async def host(tmp_path: Path) -> Any:
    async with open_fake_host(socket_path(tmp_path)) as host:
        yield host


@pytest.fixture
async def link(host: FakeHost, tmp_path: Path) -> Any:
    async with open_link(socket_path(tmp_path)) as link:
        yield link


async def stay_silent(call: FakeCall) -> None:
    """A script: the answer never comes."""


class Outcome:
    """Runs one call in the background and keeps what became of it."""

    def __init__(self) -> None:
        self.value: object = None
        self.error: GatewayError | None = None
        self.ended = trio.Event()

    async def run(self, link: Link, timeout_s: float = 20, params: object = None) -> None:
        try:
            self.value = (await rpc(link, params, timeout_s=timeout_s)).value
        except GatewayError as error:
            self.error = error
        self.ended.set()


# -- one call --------------------------------------------------------------------------------------------------------


async def test_a_call_carries_what_the_page_needs_to_judge_it_and_its_answer_comes_back(
    host: FakeHost, link: Link
) -> None:
    before_ms = time.time() * 1000
    result = await rpc(link, ["n1"], notebook="n1", timeout_s=20)
    assert result.value == {"status": 200, "body": '["n1"]', "retry_after_s": None}
    frame = host.calls[0].frame
    assert frame.pop("not_after_ms") == pytest.approx(before_ms + 20_000, abs=2_000)
    trace_id, parent_id = frame.pop("trace")["traceparent"].split("-")[1:3]
    assert trace_id == TRACEPARENT.split("-")[1]
    assert parent_id != TRACEPARENT.split("-")[2], "each request is a span of its own"
    assert frame == {
        "type": "call",
        "id": 1,
        "op": "rpc",
        "params": {"rpc": "rLM1Ne", "params": ["n1"]},
        "notebook": "n1",
        "account": ACCOUNT,
    }


async def test_hops_hold_the_workers_own_times_and_what_the_relay_took_beside_them(host: FakeHost, link: Link) -> None:
    async def slow_worker(call: FakeCall) -> None:
        await call.succeed(None, worker_ms=10_000.0, fetch_ms=3.5)

    host.script = slow_worker
    assert (await rpc(link)).hops == {"worker_ms": 10_000.0, "fetch_ms": 3.5, "relay_ms": 0.0}


async def test_hello_names_the_build_the_versions_and_the_program_that_runs_the_broker(
    host: FakeHost, tmp_path: Path
) -> None:
    async with open_link(socket_path(tmp_path), client=ClientName("cursor", "1.2")):
        (hello,) = host.received("hello")
    assert hello["client"] == {"name": "cursor", "version": "1.2"}
    assert hello["v_min"] <= 1 <= hello["v_max"]


async def test_answers_find_their_calls_in_any_order(host: FakeHost, link: Link) -> None:
    async def hold(call: FakeCall) -> None:
        if len(host.calls) == 32:
            for held in reversed(host.calls):
                await held.succeed(held.params["params"])

    host.script = hold
    outcomes = [Outcome() for _ in range(32)]
    async with trio.open_nursery() as nursery:
        for n, outcome in enumerate(outcomes):
            nursery.start_soon(outcome.run, link, 20, n)
    assert [outcome.value for outcome in outcomes] == list(range(32))


async def test_one_call_more_than_the_limit_is_refused_here_and_the_others_go_on(host: FakeHost, link: Link) -> None:
    host.script = stay_silent
    async with trio.open_nursery() as nursery:
        for _ in range(32):
            nursery.start_soon(Outcome().run, link)
        await host.wait_received("call", 32)
        with pytest.raises(RateLimited):
            await rpc(link)
        nursery.cancel_scope.cancel()
    host.script = FakeCall.succeed_empty
    await rpc(link)


async def test_an_error_of_the_worker_arrives_as_its_class_with_detail_and_proof(host: FakeHost, link: Link) -> None:
    async def deny(call: FakeCall) -> None:
        await call.fail("ALLOWLIST_DENIED", "not allowed", started=False, detail={"side": "extension"})

    host.script = deny
    with pytest.raises(AllowlistDenied, match="not allowed") as caught:
        await rpc(link)
    assert caught.value.details == {"side": "extension"}
    assert not caught.value.started


@pytest.mark.parametrize("size_bytes", [1, 60_000, 65_536, 300_000, 8 * 1024 * 1024])
async def test_bodies_of_any_size_come_and_go_whole(host: FakeHost, link: Link, size_bytes: int) -> None:
    text = ("aé𝄞" * (size_bytes // 7 + 1))[:size_bytes]
    result = await rpc(link, text)
    assert result.value == {"status": 200, "body": json.dumps(text, ensure_ascii=False), "retry_after_s": None}


@pytest.mark.parametrize("params", ["lone surrogate \ud800", {1, 2}, object()])
async def test_what_is_no_json_is_refused_before_anything_is_sent(host: FakeHost, link: Link, params: object) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await rpc(link, params)
    assert not caught.value.started
    await rpc(link, "still in working order")
    assert [call.params["params"] for call in host.calls] == ["still in working order"]


# -- the caller leaves -----------------------------------------------------------------------------------------------


async def test_a_cancelled_call_tells_the_worker_and_its_late_answer_is_dropped(host: FakeHost, link: Link) -> None:
    host.script = stay_silent
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rpc, link)
            await host.wait_received("call")
            scope.cancel()
    assert scope.cancelled_caught
    (cancel,) = await host.wait_received("cancel")
    assert (cancel["id"], cancel["reason"]) == (1, "caller cancelled")
    await host.calls[0].succeed("too late")
    host.script = FakeCall.succeed_empty
    assert (await rpc(link)).id == 2


async def test_an_answer_and_a_cancellation_in_the_same_turn_leave_one_outcome(host: FakeHost, link: Link) -> None:
    """The reader wakes the task, and the scope is cancelled before it runs: the answer counts."""
    host.script = stay_silent
    outcome = Outcome()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outcome.run, link)
            await host.wait_received("call")
            await host.calls[0].succeed("in time")
            await wait_all_tasks_blocked()
            scope.cancel()
    assert outcome.value == "in time"
    assert host.received("cancel") == []


async def test_a_call_that_is_cancelled_before_its_frame_has_left_is_taken_back(host: FakeHost, link: Link) -> None:
    host.may_read = trio.Event()
    outcome = Outcome()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome.run, link, 60, "x" * (4 * 1024 * 1024))
        await wait_all_tasks_blocked()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as inner:
                inner.start_soon(rpc, link, "never sent")
                await wait_all_tasks_blocked()
                scope.cancel()
        host.may_read.set()
    assert outcome.error is None
    await rpc(link, "next")
    assert [call.id for call in host.calls] == [1, 3]
    assert host.received("cancel") == []


# -- deadlines -------------------------------------------------------------------------------------------------------


async def test_a_call_ends_at_its_deadline_and_the_worker_is_told(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    host.script = stay_silent
    started_at = trio.current_time()
    with pytest.raises(DeadlineExceeded) as caught:
        await rpc(link, timeout_s=7)
    assert trio.current_time() - started_at == pytest.approx(7)
    assert caught.value.started
    (cancel,) = await host.wait_received("cancel")
    assert cancel["reason"] == "deadline"


async def test_each_call_has_its_own_deadline_whatever_the_order_they_were_made_in(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    host.script = stay_silent
    started_at, ended_after = trio.current_time(), dict[float, float]()

    async def one(timeout_s: float) -> None:
        with pytest.raises(DeadlineExceeded):
            await rpc(link, timeout_s=timeout_s)
        ended_after[timeout_s] = trio.current_time() - started_at

    async with trio.open_nursery() as nursery:
        for timeout_s in (5, 9, 2, 9, 7):
            nursery.start_soon(one, timeout_s)
    assert ended_after == {timeout_s: pytest.approx(timeout_s) for timeout_s in (2, 5, 7, 9)}


async def test_no_deadline_lies_beyond_the_ceiling(host: FakeHost, link: Link, autojump_clock: MockClock) -> None:
    host.script = stay_silent
    started_at = trio.current_time()
    with pytest.raises(DeadlineExceeded):
        await rpc(link, timeout_s=float("inf"))
    assert trio.current_time() - started_at == pytest.approx(240)


async def test_a_call_without_time_is_not_sent(host: FakeHost, link: Link) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        await rpc(link, timeout_s=0)
    assert not caught.value.started
    await rpc(link)
    assert len(host.calls) == 1


async def test_c031_a_frame_cut_by_its_deadline_is_finished_before_the_next_and_its_call_is_unknown(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    """The peer stops reading, the call's 200 ms pass while its frame is half out, the peer reads on."""
    host.may_read = trio.Event()
    await rpc(link, "the last that is read")
    big = "x" * (4 * 1024 * 1024)  # more than any socket buffer takes
    with pytest.raises(DeadlineExceeded) as caught:
        await rpc(link, big, timeout_s=0.2)
    assert caught.value.started, "not provably unsent, so a write would be unknown"
    host.may_read.set()
    await rpc(link, "small")
    assert [call.params["params"] for call in host.calls] == ["the last that is read", big, "small"]
    assert [frame["id"] for frame in host.received("cancel")] == [2]


# -- the host leaves -------------------------------------------------------------------------------------------------


async def test_the_end_of_the_connection_settles_every_call_at_once(host: FakeHost, link: Link) -> None:
    host.script = stay_silent
    outcomes = [Outcome() for _ in range(5)]
    async with trio.open_nursery() as nursery:
        for outcome in outcomes:
            nursery.start_soon(outcome.run, link)
        await host.wait_received("call", 5)
        await host.connections[0].hang_up()
    for outcome in outcomes:
        assert isinstance(outcome.error, CompanionOffline)
        assert outcome.error.started
        assert outcome.error.retryable
    assert link.down is not None
    with pytest.raises(CompanionOffline) as caught:
        await rpc(link)
    assert not caught.value.started


async def test_calls_whose_frames_were_still_here_are_proven_unsent_when_the_link_ends(
    host: FakeHost, link: Link
) -> None:
    host.may_read = trio.Event()
    begun, behind = Outcome(), Outcome()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(begun.run, link, 20, "x" * (4 * 1024 * 1024))
        await wait_all_tasks_blocked()
        nursery.start_soon(behind.run, link)
        await wait_all_tasks_blocked()
        await host.connections[0].hang_up()
    assert begun.error is not None
    assert begun.error.started
    assert behind.error is not None
    assert not behind.error.started


async def test_an_end_inside_a_frame_is_named(host: FakeHost, link: Link) -> None:
    await host.connections[0].send_bytes(BROKER_HEADER.pack(50) + b'{"type":')
    await host.connections[0].hang_up()
    while link.down is None:
        await link.wait_changed()
    assert "in the middle of a frame" in link.down.message


async def test_leaving_the_context_ends_open_calls_and_the_connection(host: FakeHost, tmp_path: Path) -> None:
    host.script = stay_silent
    outcome = Outcome()
    async with trio.open_nursery() as nursery:
        async with open_link(socket_path(tmp_path)) as link:
            nursery.start_soon(outcome.run, link)
            await host.wait_received("call")
        await outcome.ended.wait()
    assert isinstance(outcome.error, CompanionOffline)
    await wait_all_tasks_blocked()
    assert host.connections[0].stream.socket.fileno() == -1


async def test_an_error_raised_inside_the_context_is_not_wrapped(host: FakeHost, tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        async with open_link(socket_path(tmp_path)):
            raise LookupError


# -- frames that no host should send ---------------------------------------------------------------------------------


async def test_frames_byte_by_byte_are_read(host: FakeHost, link: Link) -> None:
    async def dribble(call: FakeCall) -> None:
        payload = json.dumps({"type": "result", "id": call.id, "ok": True, "value": "whole", "hops": {}}).encode()
        for byte in BROKER_HEADER.pack(len(payload)) + payload:
            await call.connection.send_bytes(bytes([byte]))

    host.script = dribble
    assert (await rpc(link)).value == "whole"


@pytest.mark.parametrize(
    "data",
    [
        b"\x0c\x00\x00\x00" + b'{"t":"ping"}',  # C-030: little-endian
        b"\xff\xff\xff\xff{}",
        b"\x00\x00\x00\x00",
        BROKER_HEADER.pack(3) + b"nul",
        BROKER_HEADER.pack(16) + b'{"type":"hello"}',
        BROKER_HEADER.pack(43) + b'{"type":"result","id":99,"ok":true,"v":null}'[:43],
        BROKER_HEADER.pack(42) + b'{"type":"chunk","id":1,"seq":0,"data":"x"}',
    ],
)
async def test_c030_a_host_that_breaks_the_protocol_is_cut_off_at_once_and_told_why(
    host: FakeHost, link: Link, data: bytes
) -> None:
    host.script = stay_silent
    outcome = Outcome()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome.run, link)
        await host.wait_received("call")
        await host.connections[0].send_bytes(data)
    assert isinstance(outcome.error, CompanionOffline)
    assert "broke the protocol" in outcome.error.message
    (error,) = await host.wait_received("error")
    assert error["code"] == "INVALID_ARGUMENT"


async def test_a_host_that_refuses_our_frame_makes_it_a_fault_of_ours(host: FakeHost, link: Link) -> None:
    host.script = stay_silent
    outcome = Outcome()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome.run, link)
        await host.wait_received("call")
        await host.connections[0].send({"type": "error", "code": "INVALID_ARGUMENT", "message": "no such op"})
    assert isinstance(outcome.error, InternalError)
    assert "no such op" in outcome.error.message


# -- streams ---------------------------------------------------------------------------------------------------------


async def test_a_stream_gives_its_pieces_as_they_come_and_then_its_closing_facts(host: FakeHost, link: Link) -> None:
    async def answer(call: FakeCall) -> None:
        for text in ("one", "", "two"):
            await call.chunk(text)
        await call.succeed({"status": 200, "conversation": "c1", "retry_after_s": 2}, worker_ms=1.0)

    host.script = answer
    chunks: AnswerChunks
    async with stream(link, []) as chunks:
        with pytest.raises(RuntimeError):
            _ = chunks.status
        assert [text async for text in chunks] == ["one", "", "two"]
        assert (chunks.status, chunks.conversation, chunks.retry_after_s) == (200, "c1", 2.0)
        assert chunks.hops["worker_ms"] == 1.0
    assert host.received("cancel") == []
    assert host.calls[0].op == "stream"


async def test_a_stream_that_the_connection_cuts_gives_what_had_come_and_then_is_severed(
    host: FakeHost, link: Link
) -> None:
    async def cut(call: FakeCall) -> None:
        await call.chunk("half an")
        await call.connection.hang_up()

    host.script = cut
    got = list[str]()
    with pytest.raises(StreamSevered):
        async with stream(link) as chunks:
            async for text in chunks:
                got.append(text)  # the pieces before the error are the point
    assert got == ["half an"]


async def test_leaving_a_stream_before_its_end_cancels_it(host: FakeHost, link: Link) -> None:
    async def endless(call: FakeCall) -> None:
        await call.chunk("first")
        await call.cancelled.wait()

    host.script = endless
    async with stream(link) as chunks:
        assert await anext(chunks) == "first"
    (cancel,) = await host.wait_received("cancel")
    assert cancel["id"] == 1


async def test_cancelling_a_reader_that_waits_for_a_piece_cancels_the_stream(host: FakeHost, link: Link) -> None:
    host.script = stay_silent
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery, stream(link) as chunks:

            async def leave() -> None:
                await host.wait_received("call")
                await wait_all_tasks_blocked()
                scope.cancel()

            nursery.start_soon(leave)
            await anext(chunks)
    await host.wait_received("cancel")


async def test_a_stream_that_is_not_read_is_severed_alone_and_does_not_hold_up_other_calls(
    host: FakeHost, link: Link
) -> None:
    async def flood(call: FakeCall) -> None:
        if call.op == "stream":
            for _ in range(10):
                await call.chunk("x" * (1024 * 1024))
        else:
            await call.succeed("quick")

    host.script = flood
    async with stream(link) as chunks:
        assert (await rpc(link)).value == "quick"
        await host.wait_received("cancel")
        with pytest.raises(StreamSevered, match="not read"):
            async for _ in chunks:
                pass
    assert (await rpc(link)).value == "quick"


async def test_a_stream_ends_at_its_deadline(host: FakeHost, link: Link, autojump_clock: MockClock) -> None:
    async def begin(call: FakeCall) -> None:
        await call.chunk("begun")

    host.script = begin
    async with stream(link, timeout_s=30) as chunks:
        assert await anext(chunks) == "begun"
        with pytest.raises(DeadlineExceeded):
            await anext(chunks)
    (cancel,) = await host.wait_received("cancel")
    assert cancel["reason"] == "deadline"


async def test_the_ceiling_of_a_call_does_not_cut_a_stream(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    """M-03: a stream's ceiling is one of silence, moved by each piece; its whole length has only the caller's own."""

    async def begin(call: FakeCall) -> None:
        await call.chunk("begun")

    host.script = begin
    started_at = trio.current_time()
    async with stream(link, timeout_s=600) as chunks:
        assert await anext(chunks) == "begun"
        with pytest.raises(DeadlineExceeded):
            await anext(chunks)
    assert trio.current_time() - started_at == pytest.approx(600)


# -- greeting and heartbeat ------------------------------------------------------------------------------------------


async def test_a_later_welcome_replaces_the_first(host: FakeHost, link: Link) -> None:
    assert link.welcome is not None
    assert link.welcome.account == ACCOUNT
    host.account = "grace@example.com"
    await host.announce()
    while link.welcome.account == ACCOUNT:
        await link.wait_changed()
    assert link.welcome.account == "grace@example.com"
    assert link.down is None


async def test_events_reach_the_listener(host: FakeHost, link: Link) -> None:
    heard, arrived = list[Event](), trio.Event()

    def listen(event: Event) -> None:
        heard.append(event)
        arrived.set()

    await host.connections[0].send({"type": "event", "name": "paused", "detail": None})
    await rpc(link)  # an event that nobody listens to is no fault
    link.on_event = listen
    await host.connections[0].send({"type": "event", "name": "tab_gone", "detail": {"tab": 3}})
    await arrived.wait()
    assert heard == [Event("tab_gone", {"tab": 3})]


async def test_a_ping_is_answered_with_its_own_mark(host: FakeHost, link: Link) -> None:
    await host.connections[0].send({"type": "ping", "t": 4711})
    assert (await host.wait_received("pong")) == [{"type": "pong", "t": 4711}]


async def test_a_host_that_falls_silent_is_given_up_after_two_missed_heartbeats(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    await rpc(link)
    host.answers_pings = False
    host.script = stay_silent
    started_at = trio.current_time()
    with pytest.raises(CompanionOffline, match="no sign of life") as caught:
        await rpc(link, timeout_s=200)
    assert caught.value.started
    assert 2 * HEARTBEAT_S <= trio.current_time() - started_at <= 4 * HEARTBEAT_S


async def test_an_idle_link_to_a_host_that_answers_pings_lives_on(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    await trio.sleep(40 * 60)
    assert link.down is None
    assert len(host.received("ping")) == pytest.approx(40 * 60 / HEARTBEAT_S, abs=1)
    await rpc(link)


async def test_a_host_that_talks_but_does_not_read_is_given_up(
    host: FakeHost, link: Link, autojump_clock: MockClock
) -> None:
    host.may_read = trio.Event()
    await rpc(link, "the last that is read")
    async with trio.open_nursery() as nursery:

        async def talk() -> None:
            with suppress(trio.BrokenResourceError):  # the link may end while this is on its way
                while link.down is None:
                    await host.connections[0].send({"type": "event", "name": "resumed", "detail": None})
                    await trio.sleep(1)

        nursery.start_soon(talk)
        with pytest.raises(CompanionOffline, match="no sign of life"):
            await rpc(link, "x" * (4 * 1024 * 1024), timeout_s=200)
        nursery.cancel_scope.cancel()


async def test_a_host_without_a_common_version_is_version_skew(tmp_path: Path, nursery: trio.Nursery) -> None:
    async def refuse(stream: trio.SocketStream) -> None:
        payload = b'{"type":"error","code":"VERSION_SKEW","message":"host 0.9, broker 0.1: update the broker"}'
        await stream.send_all(BROKER_HEADER.pack(len(payload)) + payload)
        await stream.aclose()

    await serve(tmp_path, refuse, nursery)
    with pytest.raises(VersionSkew, match=r"host 0\.9, broker 0\.1"):
        async with open_link(socket_path(tmp_path)):
            pass


async def test_a_welcome_in_a_version_we_do_not_speak_is_version_skew(tmp_path: Path, nursery: trio.Nursery) -> None:
    async def welcome(stream: trio.SocketStream) -> None:
        payload = json.dumps(
            {"type": "welcome", "v": 9, "host": {"build": "0.9", "pid": 1}, "extension": None, "account": None}
        ).encode()
        await stream.send_all(BROKER_HEADER.pack(len(payload)) + payload)
        await stream.receive_some()

    await serve(tmp_path, welcome, nursery)
    with pytest.raises(VersionSkew, match=r"0\.9"):
        async with open_link(socket_path(tmp_path)):
            pass


async def test_a_host_that_hangs_at_the_greeting_is_given_up_soon(
    tmp_path: Path, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def hang(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    await serve(tmp_path, hang, nursery)
    started_at = trio.current_time()
    with pytest.raises(CompanionOffline, match="did not answer"):
        async with open_link(socket_path(tmp_path)):
            pass
    assert trio.current_time() - started_at == pytest.approx(HANDSHAKE_TIMEOUT_S)


async def test_cancelling_the_greeting_closes_the_connection(tmp_path: Path, nursery: trio.Nursery) -> None:
    accepted, closed = trio.Event(), trio.Event()

    async def watch(stream: trio.SocketStream) -> None:
        accepted.set()
        async for _ in stream:
            pass
        closed.set()

    await serve(tmp_path, watch, nursery)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as inner:

            async def connect() -> None:
                async with open_link(socket_path(tmp_path)):
                    pass

            inner.start_soon(connect)
            await accepted.wait()
            scope.cancel()
    await closed.wait()


async def test_nobody_at_the_socket_is_said_at_once(tmp_path: Path) -> None:
    path = socket_path(tmp_path)
    with pytest.raises(CompanionOffline, match=r"c\.sock"):
        async with open_link(path):
            pass
    with trio.socket.socket(trio.socket.AF_UNIX) as dead:
        await dead.bind(str(path))
    with pytest.raises(CompanionOffline) as caught:
        async with open_link(path):
            pass
    assert not caught.value.started


async def serve(folder: Path, handle: Any, nursery: trio.Nursery) -> None:
    """Listen with a hand-written host."""
    sock = trio.socket.socket(trio.socket.AF_UNIX)
    await sock.bind(str(socket_path(folder)))
    sock.listen(5)
    await nursery.start(trio.serve_listeners, handle, [trio.SocketListener(sock)])


async def test_the_state_is_shown_in_the_text_form(link: Link) -> None:
    assert repr(link).startswith("<Link <Exchange up, 0 calls> Welcome(")
