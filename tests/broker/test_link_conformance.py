"""The fake host and the real one are held to the same answers, as the broker's link sees them.

Where these tests pass on both, a test that uses the fake host says something about the product.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from broker.companions import open_companions
from broker.errors import AllowlistDenied, CompanionOffline, StreamSevered
from broker.fake_host import FakeCall
from broker.link import Link, open_link
from broker.relay_frames import Event
from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, FrameDecoder
from native_host.protocol import MAX_BROKER_FRAME_BYTES
from tests.broker.hosts_under_test import HostSide, open_fake_side, open_real_side
from tests.broker.relay_helpers import ACCOUNT, TRACEPARENT, in_s, rpc, stream

HELLO = {
    "type": "hello",
    "v_min": 1,
    "v_max": 1,
    "build": BUILD,
    "client": {"name": "test", "version": "1"},
    "pid": 1,
}


@pytest.fixture(params=["fake", "real"])
async def silent_host(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A host whose worker has not reported yet."""
    open_side = {"fake": open_fake_side, "real": open_real_side}[request.param]
    async with open_side(tmp_path) as side:
        yield side


@pytest.fixture
async def host(silent_host: HostSide) -> HostSide:
    await silent_host.say_ready(ACCOUNT)
    return silent_host


@pytest.fixture
async def link(host: HostSide) -> Any:
    async with open_link(host.socket_path) as link:
        await reports(link, ACCOUNT)
        yield link


async def reports(link: Link, account: str | None) -> None:
    """Wait for a welcome of a worker that is ready with this account."""
    while link.welcome is None or link.welcome.extension is None or link.welcome.account != account:
        assert link.down is None
        await link.wait_changed()


class RawBroker:
    """A broker that may send what no link would."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)

    async def send(self, frame: object) -> None:
        await self.send_payload(json.dumps(frame).encode())

    async def send_payload(self, payload: bytes) -> None:
        await self.stream.send_all(BROKER_HEADER.pack(len(payload)) + payload)

    async def receive(self, kind: str) -> dict[str, Any]:
        """Return the next frame of that type; pings and repeated welcomes in between are passed over."""
        while True:
            while (payload := self._decoder.maybe_next_frame()) is None:
                data = await self.stream.receive_some()
                assert data, "the host closed the connection"
                self._decoder.feed_untrusted(data)
            frame = json.loads(payload)
            if frame["type"] == kind:
                return frame

    async def wait_closed(self) -> None:
        try:
            while await self.stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass  # closed with bytes of ours unread


@pytest.fixture
async def raw(host: HostSide) -> Any:
    async with await trio.open_unix_socket(str(host.socket_path)) as stream:
        yield RawBroker(stream)


async def stay_silent(call: FakeCall) -> None:
    """A script: the answer never comes."""


async def test_the_welcome_names_host_extension_and_configured_account(link: Link) -> None:
    assert link.welcome is not None
    assert link.welcome.host_build == BUILD
    assert link.welcome.host_pid > 0
    assert link.welcome.extension is not None
    assert link.welcome.extension.profile == "profile-1"


async def test_c038_a_host_is_not_a_browser_until_its_worker_reports(silent_host: HostSide) -> None:
    async with open_link(silent_host.socket_path) as link:
        assert link.welcome is not None
        assert link.welcome.extension is None
        assert link.welcome.account is None
        await silent_host.say_ready(ACCOUNT)
        await reports(link, ACCOUNT)
        await rpc(link)


async def test_another_account_in_the_extension_is_told_to_open_connections(host: HostSide, link: Link) -> None:
    await host.say_ready("grace@example.com")
    await reports(link, "grace@example.com")
    await host.say_ready(None)
    await reports(link, None)


async def test_a_call_arrives_with_its_fields_and_its_answer_comes_back(host: HostSide, link: Link) -> None:
    result = await rpc(link, ["n1", "é𝄞 \u2028", None, 1.5], notebook="n1")
    assert result.value == {"status": 200, "body": '["n1","é𝄞 \u2028",null,1.5]', "retry_after_s": None}
    assert result.hops["worker_ms"] == 0
    (call,) = host.calls
    assert (call.op, call.notebook, call.frame["account"]) == ("rpc", "n1", ACCOUNT)
    assert call.params == {"rpc": "rLM1Ne", "params": ["n1", "é𝄞 \u2028", None, 1.5]}
    assert call.frame["trace"]["traceparent"].startswith(TRACEPARENT[:35]), "the same trace"


@pytest.mark.parametrize("size_chars", [600_000, 3_000_000])
async def test_large_bodies_pass_in_both_directions(host: HostSide, link: Link, size_chars: int) -> None:
    text = '"\\\u0001é𝄞' * (size_chars // 5)
    result = await rpc(link, text)
    assert result.value == {"status": 200, "body": json.dumps(text, ensure_ascii=False), "retry_after_s": None}


async def test_an_error_keeps_code_detail_and_proof(host: HostSide, link: Link) -> None:
    async def deny(call: FakeCall) -> None:
        await call.fail("ALLOWLIST_DENIED", "no", started=False, detail={"side": "extension"})

    host.script = deny
    with pytest.raises(AllowlistDenied) as caught:
        await rpc(link)
    assert caught.value.details == {"side": "extension"}
    assert not caught.value.started


async def test_a_stream_keeps_its_order_and_ends_with_its_result(host: HostSide, link: Link) -> None:
    async def answer(call: FakeCall) -> None:
        for n in range(50):
            await call.chunk(f"{n},")
        await call.succeed({"status": 200, "conversation": "c1", "retry_after_s": None})

    host.script = answer
    async with stream(link) as chunks:
        text = "".join([piece async for piece in chunks])
    assert text == "".join(f"{n}," for n in range(50))
    assert chunks.conversation == "c1"


async def test_a_cancelled_call_is_cancelled_in_the_worker(host: HostSide, link: Link) -> None:
    host.script = stay_silent
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rpc, link)
            await host.wait_calls(1)
            nursery.cancel_scope.cancel()
        await host.calls[0].cancelled.wait()
    host.script = FakeCall.succeed_empty
    await rpc(link)


async def test_leaving_a_stream_cancels_it_in_the_worker(host: HostSide, link: Link) -> None:
    async def begin(call: FakeCall) -> None:
        await call.chunk("begun")

    host.script = begin
    async with stream(link) as chunks:
        assert await anext(chunks) == "begun"
    with trio.fail_after(10):
        await host.calls[0].cancelled.wait()


async def test_two_brokers_use_the_same_ids_and_get_their_own_answers(host: HostSide, link: Link) -> None:
    async with open_link(host.socket_path) as other:
        for n in range(3):
            assert (await rpc(link, ["one", n])).value != (await rpc(other, ["two", n])).value
    assert [call.id for call in host.calls] == [1, 1, 2, 2, 3, 3]


async def test_an_event_reaches_the_listener(host: HostSide, link: Link) -> None:
    heard = list[Event]()
    arrived = trio.Event()

    def listen(event: Event) -> None:
        heard.append(event)
        arrived.set()

    link.on_event = listen
    await host.send_event("tab_gone")
    await arrived.wait()
    assert heard == [Event("tab_gone", None)]


async def test_c037_when_the_host_leaves_every_call_ends_at_once(host: HostSide, link: Link) -> None:
    host.script = stay_silent
    errors = list[Exception]()

    async def call() -> None:
        with pytest.raises(CompanionOffline) as caught:
            await rpc(link)
        errors.append(caught.value)

    async def ask() -> None:
        with pytest.raises(StreamSevered) as caught:
            async with stream(link) as chunks:
                await anext(chunks)
        errors.append(caught.value)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            nursery.start_soon(ask)
            await host.wait_calls(2)
            await host.leave()
    assert len(errors) == 2
    assert link.down is not None


async def test_a_ping_is_answered(raw: RawBroker) -> None:
    await raw.send(HELLO)
    await raw.receive("welcome")
    await raw.send({"type": "ping", "t": 4711})
    assert (await raw.receive("pong"))["t"] == 4711


@pytest.mark.parametrize(
    "payload",
    [b"nul", b"[]", b'{"type":"ready"}', b'{"type":"call","id":1}', b'{"type":"cancel","id":"x","reason":""}'],
)
async def test_a_broker_that_breaks_the_protocol_is_cut_off_and_another_is_not(
    raw: RawBroker, link: Link, payload: bytes
) -> None:
    await raw.send(HELLO)
    await raw.receive("welcome")
    await raw.send_payload(payload)
    assert (await raw.receive("error"))["code"] == "INVALID_ARGUMENT"
    await raw.wait_closed()
    await rpc(link)


@pytest.mark.parametrize("header", [b"\x0c\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"])
async def test_c030_a_length_that_no_frame_has_ends_that_connection_only(
    raw: RawBroker, link: Link, header: bytes
) -> None:
    await raw.send(HELLO)
    await raw.receive("welcome")
    await raw.stream.send_all(header)
    await raw.wait_closed()
    await rpc(link)


async def test_no_common_version_is_version_skew(raw: RawBroker) -> None:
    await raw.send(HELLO | {"v_min": 99, "v_max": 100})
    error = await raw.receive("error")
    assert error["code"] == "VERSION_SKEW"
    assert BUILD in error["message"]
    await raw.wait_closed()


async def test_the_companions_of_a_home_folder_are_found_and_used(host: HostSide, tmp_path: Path) -> None:
    async with open_companions(tmp_path, ACCOUNT) as companions:
        reply = await companions.rpc("x", ["n1"], notebook="n1", deadline_s=in_s(20), traceparent=TRACEPARENT)
    assert reply.body == '["n1"]'
