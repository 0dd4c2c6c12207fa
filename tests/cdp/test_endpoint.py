"""From a URL that a person names to a browser's WebSocket address."""

import json
from functools import partial

import pytest
import trio

import cdp
from cdp.endpoint import Endpoint, resolve_endpoint
from cdp.errors import ConnectFailed

ID = "22222222-2222-4222-8222-222222222222"


async def serve_http(nursery, status: int, body: object) -> int:
    """Answer every request on loopback with one status and JSON body; return the port."""

    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        text = json.dumps(body).encode()
        await stream.send_all(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(text)) + text)
        await stream.aclose()

    listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
    return listeners[0].socket.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_browser_in_a_container_is_reached_at_the_address_it_was_asked_at(nursery, scheme):
    version = {"Browser": "Chrome/156.0", "webSocketDebuggerUrl": f"ws://172.17.0.2:9222/devtools/browser/{ID}"}
    port = await serve_http(nursery, 200, version)
    endpoint = await resolve_endpoint(f"{scheme}://127.0.0.1:{port}")
    assert endpoint == Endpoint(f"ws://127.0.0.1:{port}/devtools/browser/{ID}", "Chrome/156.0", is_local=True)
    nursery.cancel_scope.cancel()


async def test_c095_a_404_is_answered_with_the_path_from_the_port_file(nursery, tmp_path):
    port = await serve_http(nursery, 404, None)
    (tmp_path / "DevToolsActivePort").write_text(f"{port}\n/devtools/browser/{ID}")
    endpoint = await resolve_endpoint(f"http://127.0.0.1:{port}", profile_folders=[tmp_path / "absent", tmp_path])
    assert endpoint == Endpoint(f"ws://127.0.0.1:{port}/devtools/browser/{ID}", None, is_local=True, needs_consent=True)
    nursery.cancel_scope.cancel()


async def test_c095_a_404_without_a_port_file_of_that_port_says_what_to_give_instead(nursery, tmp_path):
    port = await serve_http(nursery, 404, None)
    (tmp_path / "DevToolsActivePort").write_text(f"{port % 60000 + 1}\n/devtools/browser/{ID}")
    with pytest.raises(ConnectFailed, match=r"user-approved debugging.*DevToolsActivePort.*Grid"):
        await resolve_endpoint(f"http://127.0.0.1:{port}", profile_folders=[tmp_path])
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "url",
    [
        "ws://grid:4444/session/abc/se/cdp",
        "http://grid:4444/session/abc",
        "http://grid:4444/session/abc/se/cdp/",
    ],
)
async def test_a_selenium_grid_session_is_never_a_local_browser(url):
    assert await resolve_endpoint(url) == Endpoint("ws://grid:4444/session/abc/se/cdp", None, is_local=False)


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("ws://127.0.0.1:1/devtools/browser/x", True),
        ("ws://[::1]:1/devtools/browser/x", True),
        ("ws://localhost:1/devtools/page/x", True),
        ("ws://10.0.0.7:1/devtools/browser/x", False),
        ("ws://chrome:1/devtools/browser/x", False),
    ],
)
async def test_a_websocket_url_with_a_path_is_taken_as_it_is(url, is_local):
    assert await resolve_endpoint(url) == Endpoint(url, None, is_local)


@pytest.mark.parametrize(
    "url", ["wss://x/y", "https://x", "ftp://x", "127.0.0.1:9222", "ws://", "ws://x:y/", "http://[::1"]
)
async def test_what_is_no_url_of_a_browser_is_named(url):
    with pytest.raises(ConnectFailed, match=r"is no|TLS is not supported"):
        await resolve_endpoint(url)


@pytest.mark.parametrize("body", [None, [], {}, {"Browser": "x"}, {"webSocketDebuggerUrl": 7, "Browser": "x"}])
async def test_something_else_that_speaks_http_is_no_browser(nursery, body):
    port = await serve_http(nursery, 200, body)
    with pytest.raises(ConnectFailed, match="is no debugging port of a browser"):
        await resolve_endpoint(f"http://127.0.0.1:{port}")
    nursery.cancel_scope.cancel()


async def test_other_statuses_are_shown_as_they_are(nursery):
    port = await serve_http(nursery, 500, None)
    with pytest.raises(ConnectFailed, match="HTTP 500"):
        await resolve_endpoint(f"http://127.0.0.1:{port}")
    nursery.cancel_scope.cancel()


async def test_a_port_that_never_answers_is_given_up_in_time(nursery):
    async def silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    listeners = await nursery.start(partial(trio.serve_tcp, silent, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]
    with trio.fail_after(5), pytest.raises(ConnectFailed, match="did not answer within"):
        await resolve_endpoint(f"http://127.0.0.1:{port}", timeout_s=0.2)
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("name", cdp.__all__)
def test_every_public_name_is_there(name):
    assert getattr(cdp, name).__module__.startswith("cdp.")


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = cdp.no_such_name
