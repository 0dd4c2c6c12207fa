"""The broker's own link against the real host, so that neither is only ever tested against a stand-in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from broker.errors import CompanionOffline, RateLimited
from broker.link import Link, open_link
from tests.native_host.fakes import FakeChrome, Frame

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def chrome(tmp_path: Path) -> Iterator[FakeChrome]:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        chrome.ready()
        yield chrome


async def call(link: Link, op: str = "rpc", **params: object) -> object:
    deadline_s = trio.current_time() + 10
    account = "ada@example.com"
    result = await link.call(op, params, notebook=None, account=account, deadline_s=deadline_s, traceparent=TRACEPARENT)
    return result.value


def serve_calls(chrome: FakeChrome, count: int, answer: Frame) -> None:
    """Play a worker that gives `count` calls the same answer."""
    while count:
        frame = chrome.receive()
        assert frame is not None
        if frame["type"] == "call":
            chrome.send({"conn": frame["conn"], "type": "result", "id": frame["id"], **answer})
            count -= 1


async def test_a_call_of_the_broker_comes_back_through_the_host(chrome: FakeChrome) -> None:
    body = 'é😀"\\' * 300_000
    with trio.fail_after(20):
        async with open_link(chrome.socket_path) as link, trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, serve_calls, chrome, 1, {"ok": True, "value": {"body": body}})
            assert await call(link, rpc="wXbhsf", params=[body]) == {"body": body}


async def test_an_error_of_the_worker_is_the_brokers_error(chrome: FakeChrome) -> None:
    error = {"code": "RATE_LIMITED", "message": "busy", "detail": {"retry_after_ms": 1500}, "started": False}
    with trio.fail_after(20):
        async with open_link(chrome.socket_path) as link, trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, serve_calls, chrome, 1, {"ok": False, "error": error})
            with pytest.raises(RateLimited, match="busy") as caught:
                await call(link)
    assert caught.value.started is False
    assert caught.value.details["retry_after_s"] == 1.5


async def test_two_brokers_and_a_worker_that_answers_both(chrome: FakeChrome) -> None:
    async def ask(link: Link) -> None:
        assert await call(link) == 1

    with trio.fail_after(20):
        async with (
            open_link(chrome.socket_path) as one,
            open_link(chrome.socket_path) as two,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(trio.to_thread.run_sync, serve_calls, chrome, 40, {"ok": True, "value": 1})
            for _ in range(20):
                nursery.start_soon(ask, one)
                nursery.start_soon(ask, two)


async def test_c037_the_end_of_the_port_settles_the_brokers_calls_at_once(chrome: FakeChrome) -> None:
    with trio.fail_after(5):
        async with open_link(chrome.socket_path) as link, trio.open_nursery() as nursery:

            async def end_port() -> None:
                await trio.to_thread.run_sync(chrome.receive_type, "conn_open")
                await trio.to_thread.run_sync(chrome.receive_type, "call")
                assert await trio.to_thread.run_sync(chrome.close_port) == 0

            nursery.start_soon(end_port)
            with pytest.raises(CompanionOffline):
                await call(link)


async def test_a_host_whose_worker_is_not_ready_says_that_the_call_never_started(tmp_path: Path) -> None:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        with trio.fail_after(20):
            async with open_link(chrome.socket_path) as link:
                assert link.down is None
                with pytest.raises(CompanionOffline) as caught:
                    await call(link)
    assert caught.value.started is False
