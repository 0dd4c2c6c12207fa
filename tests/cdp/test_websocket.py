"""The WebSocket transport against servers that are large, rude, slow or not there."""

import base64
import hashlib
import json
from functools import partial

import pytest
import trio
from trio_websocket import WebSocketConnection, WebSocketRequest, serve_websocket

from cdp.connection import open_connection
from cdp.errors import ConnectFailed, ConnectionLost

CLOSES_WITHIN_S = 4.0


async def serve(nursery, handler) -> str:
    """Run a WebSocket server on loopback and return its URL."""
    server = await nursery.start(partial(serve_websocket, handler, "127.0.0.1", 0, ssl_context=None))
    return f"ws://127.0.0.1:{server.port}/devtools/browser/x"


async def serve_tcp(nursery, handler) -> str:
    """Run a bare TCP server on loopback and return a WebSocket URL to it."""
    listeners = await nursery.start(partial(trio.serve_tcp, handler, 0, host="127.0.0.1"))
    return f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}/devtools/browser/x"


async def answer_with_value_of(websocket: WebSocketConnection, size: int) -> None:
    command = json.loads(await websocket.get_message())
    await websocket.send_message(json.dumps({"id": command["id"], "result": {"value": "x" * size}}))


@pytest.mark.parametrize("size", [1_048_575, 1_048_577, 20_000_000])
async def test_c097_an_answer_over_one_mebibyte_arrives_whole(nursery, size):
    async def browser(request: WebSocketRequest) -> None:
        websocket = await request.accept()
        for _ in range(30):
            await websocket.send_message(json.dumps({"method": "A.a", "params": {"data": "e" * 1_000_000}}))
        await answer_with_value_of(websocket, size)

    url = await serve(nursery, browser)
    async with open_connection(url) as connection:
        result = await connection.call("Runtime.evaluate")
        assert len(str(result["value"])) == size
    nursery.cancel_scope.cancel()


async def test_compression_is_never_offered(nursery):
    """permessage-deflate was measured to cost seven times the time on large sends."""
    offered: list[bytes] = []

    async def browser(request: WebSocketRequest) -> None:
        offered.extend(name.lower() for name, _ in request.headers)
        await answer_with_value_of(await request.accept(), 1)

    async with open_connection(await serve(nursery, browser)) as connection:
        await connection.call("Browser.getVersion")
    assert b"sec-websocket-extensions" not in offered
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("value", ["http://127.0.0.1:9", "socks5h://127.0.0.1:9"])
@pytest.mark.parametrize("no_proxy", [None, "*", "::1/128,10.0.0.0/8,.corp"])
async def test_c096_loopback_is_reached_directly_whatever_the_proxy_variables_say(
    nursery, monkeypatch, value, no_proxy
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    for name in ("NO_PROXY", "no_proxy"):
        if no_proxy is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, no_proxy)

    async def browser(request: WebSocketRequest) -> None:
        await answer_with_value_of(await request.accept(), 3)

    async with open_connection(await serve(nursery, browser)) as connection:
        assert await connection.call("Browser.getVersion") == {"value": "xxx"}
    nursery.cancel_scope.cancel()


async def test_nothing_that_listens_is_one_clear_error(nursery):
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    with pytest.raises(ConnectFailed, match=f"nothing listens at ws://127.0.0.1:{port}/x"):
        async with open_connection(f"ws://127.0.0.1:{port}/x"):
            pass


async def test_c093_another_browser_on_the_port_refuses_our_path(nursery):
    """The path holds the browser's own id, so a foreign process on the port is found out."""

    async def foreign(request: WebSocketRequest) -> None:
        await request.reject(404)

    url = await serve(nursery, foreign)
    with pytest.raises(ConnectFailed, match="refused the WebSocket upgrade with HTTP 404"):
        async with open_connection(url):
            pass
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "ws://", "ws://127.0.0.1:port/", "127.0.0.1:9222", "ws://[::1"]
)
async def test_what_is_no_websocket_url_is_named(url):
    with pytest.raises(ConnectFailed, match="is no"):
        async with open_connection(url):
            pass


async def test_c098_a_server_that_never_upgrades_is_given_up(nursery):
    async def silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    url = await serve_tcp(nursery, silent)
    with trio.fail_after(CLOSES_WITHIN_S), pytest.raises(ConnectFailed, match="did not answer in time"):
        async with open_connection(url, connect_timeout_s=0.2):
            pass
    nursery.cancel_scope.cancel()


async def test_c098_a_server_that_dies_during_the_upgrade_is_one_clear_error(nursery):
    async def dying(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.aclose()

    url = await serve_tcp(nursery, dying)
    with trio.fail_after(CLOSES_WITHIN_S), pytest.raises(ConnectFailed, match="it hung up"):
        async with open_connection(url):
            pass
    nursery.cancel_scope.cancel()


async def test_c098_a_server_that_closes_tcp_without_a_close_frame_fails_the_pending_call(nursery):
    async def rude(request: WebSocketRequest) -> None:
        websocket = await request.accept()
        await websocket.get_message()
        await websocket._stream.aclose()

    async with open_connection(await serve(nursery, rude)) as connection:
        with trio.fail_after(CLOSES_WITHIN_S), pytest.raises(ConnectionLost, match="code 1006"):
            await connection.call("Browser.getVersion")
    nursery.cancel_scope.cancel()


async def test_c098_closing_does_not_wait_for_a_server_that_stopped_reading(nursery):
    """Full buffers: neither our commands nor our close frame get through."""

    async def deaf(stream: trio.SocketStream) -> None:
        request = await stream.receive_some()
        key = request.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0]
        await stream.send_all(_upgrade(key))
        await trio.sleep_forever()

    url = await serve_tcp(nursery, deaf)
    with trio.fail_after(CLOSES_WITHIN_S):
        async with open_connection(url) as connection:
            with trio.move_on_after(0.2):
                await connection.call("Runtime.evaluate", {"expression": "x" * 30_000_000})
            assert connection.pending_count == 0
    nursery.cancel_scope.cancel()


def _upgrade(key: bytes) -> bytes:
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept
        + b"\r\n\r\n"
    )
