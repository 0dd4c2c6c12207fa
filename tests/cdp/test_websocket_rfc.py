"""The WebSocket client against a server that plays RFC 6455's bad cases, and its legal but unusual ones."""

import contextlib
import json
import struct

import pytest
import trio

from cdp.connection import open_connection
from cdp.errors import ConnectFailed, ConnectionLost
from cdp.websocket import open_websocket_transport
from tests.cdp.rfc_server import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    Peer,
    fragments,
    frame,
    serve,
    serve_tcp,
    upgrade,
)

WITHIN_S = 5.0
ANSWER = b'{"id":1,"result":{"text":"\xc3\xa4\xf0\x9f\x98\x80"}}'
RESULT = {"text": "ä😀"}


async def answered_with(nursery, data: bytes, *, then_close: bool = False) -> object:
    """Return the result of a call whose answer is these bytes on the wire."""

    async def behave(peer: Peer) -> None:
        await peer.next_frame()
        await peer.stream.send_all(data)
        if not then_close:
            with contextlib.suppress(EOFError, trio.BrokenResourceError):
                while True:
                    await peer.next_frame()

    url = await serve(nursery, behave)
    with trio.fail_after(WITHIN_S):
        async with open_connection(url) as connection:
            try:
                return await connection.call("Runtime.evaluate")
            finally:
                assert connection.pending_count == 0
                nursery.cancel_scope.cancel()


LEGAL = {
    "one text frame": frame(TEXT, ANSWER),
    "a binary message": frame(BINARY, ANSWER),
    "two fragments": fragments(ANSWER, 2),
    "a fragment for each byte, so that characters are cut": fragments(ANSWER, len(ANSWER)),
    "empty fragments": frame(TEXT, b"", fin=False) + frame(CONTINUATION, ANSWER, fin=False) + frame(CONTINUATION, b""),
    "a ping between two fragments": frame(TEXT, ANSWER[:9], fin=False)
    + frame(PING, b"p")
    + frame(CONTINUATION, ANSWER[9:]),
    "a pong that nobody asked for": frame(PONG, b"unasked") + frame(TEXT, ANSWER),
}


@pytest.mark.parametrize("data", LEGAL.values(), ids=LEGAL)
async def test_what_is_legal_is_read(nursery, data):
    assert await answered_with(nursery, data) == RESULT


BAD = {
    "RSV1, as if compressed though never agreed": frame(TEXT, ANSWER, reserved=4),
    "RSV2": frame(TEXT, ANSWER, reserved=2),
    "RSV3": frame(TEXT, ANSWER, reserved=1),
    "a reserved data opcode": frame(0x3, ANSWER),
    "a reserved control opcode": frame(0xB, b""),
    "a masked server frame": frame(TEXT, ANSWER, mask=b"abcd"),
    "a fragmented ping": frame(PING, b"p", fin=False),
    "a ping of 126 bytes": frame(PING, b"p" * 126),
    "a continuation of nothing": frame(CONTINUATION, ANSWER),
    "a new message inside another": frame(TEXT, ANSWER[:5], fin=False) + frame(TEXT, ANSWER),
    "a length in more bytes than it needs": struct.pack("!BBH", 0x81, 126, len(ANSWER)) + ANSWER,
    "a 64-bit length with its top bit set": struct.pack("!BBQ", 0x81, 127, 1 << 63) + ANSWER,
    "invalid UTF-8": frame(TEXT, b'{"id":1,"result":{"text":"\xff"}}'),
    "UTF-8 that ends in the middle of a character": frame(TEXT, ANSWER[:-8]),
    "a UTF-8 surrogate": frame(TEXT, b'{"id":1,"result":{"text":"\xed\xa0\x80"}}'),
    "invalid UTF-8 in a later fragment": frame(TEXT, b'{"id":1,"x":"', fin=False) + frame(CONTINUATION, b'\xc3\x28"}'),
    "a close of one byte": frame(CLOSE, b"\x03"),
    "a close code that must not be sent": frame(CLOSE, struct.pack("!H", 1005)),
    "a close code below 1000": frame(CLOSE, struct.pack("!H", 999)),
    "a close reason in invalid UTF-8": frame(CLOSE, struct.pack("!H", 1000) + b"\xff"),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
async def test_what_is_illegal_ends_the_connection_with_one_defined_error(nursery, data):
    with pytest.raises(ConnectionLost):
        await answered_with(nursery, data)


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1009, 1011, 3000, 4999])
async def test_a_close_from_the_server_is_told_with_its_code_and_reason(nursery, code):
    with pytest.raises(ConnectionLost, match=f"code {code}.*: going away"):
        await answered_with(nursery, frame(CLOSE, struct.pack("!H", code) + b"going away"))


async def test_a_close_without_a_code_is_a_close(nursery):
    with pytest.raises(ConnectionLost, match="closed with code"):
        await answered_with(nursery, frame(CLOSE, b""))


@pytest.mark.parametrize("cut", [1, 2, 5, len(ANSWER) - 1])
async def test_c098_a_server_that_dies_in_the_middle_of_a_frame_fails_the_call(nursery, cut):
    with pytest.raises(ConnectionLost, match="code 1006"):
        await answered_with(nursery, frame(TEXT, ANSWER)[:cut], then_close=True)


@pytest.mark.parametrize("size", [1_048_575, 1_048_577, 20_000_000])
@pytest.mark.parametrize("count", [1, 100])
async def test_c097_a_large_answer_arrives_whole_in_one_frame_or_a_hundred(nursery, size, count):
    head, tail = b'{"id":1,"result":{"text":"', b'"}}'
    answer = head + b"x" * (size - len(head) - len(tail)) + tail
    result = await answered_with(nursery, fragments(answer, count))
    assert len(result["text"]) == size - len(head) - len(tail)  # type: ignore[index]


async def test_a_ping_is_answered_with_its_own_payload(nursery):
    ponged = trio.Event()

    async def behave(peer: Peer) -> None:
        await peer.stream.send_all(frame(PING, b"are you there"))
        assert await peer.next_frame() == (PONG, b"are you there")
        ponged.set()
        with contextlib.suppress(EOFError):
            await peer.next_frame()

    url = await serve(nursery, behave)
    with trio.fail_after(WITHIN_S):
        async with open_connection(url):
            await ponged.wait()
    nursery.cancel_scope.cancel()


async def test_c098_closing_does_not_wait_for_a_server_that_ignores_the_close_frame(nursery):
    async def behave(peer: Peer) -> None:
        await trio.sleep_forever()

    url = await serve(nursery, behave)
    with trio.fail_after(WITHIN_S):
        async with open_connection(url):
            pass
    nursery.cancel_scope.cancel()


async def test_leaving_the_block_says_goodbye_with_code_1000(nursery):
    closes: list[tuple[int, bytes]] = []

    async def behave(peer: Peer) -> None:
        closes.append(await peer.next_frame())
        await peer.stream.send_all(frame(CLOSE, closes[0][1]))

    url = await serve(nursery, behave)
    async with open_connection(url):
        pass
    assert closes == [(CLOSE, struct.pack("!H", 1000))]
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: upgrade(request, extra=b"Sec-WebSocket-Extensions: permessage-deflate\r\n"),
        lambda request: upgrade(request, extra=b"Sec-WebSocket-Protocol: unasked\r\n"),
        lambda request: upgrade(request, accept=b"bm90IHRoZSByaWdodCBvbmU="),
        lambda request: upgrade(request, status=b"200 OK", extra=b"Content-Length: 0\r\n"),
        lambda request: upgrade(request, status=b"403 Forbidden", extra=b"Content-Length: 0\r\n"),
        lambda request: b"HTTP/1.1 101 X\r\n\r\n",
        lambda request: b"\x00" * 100,
    ],
    ids=[
        "compression that was never offered",
        "a subprotocol that was never offered",
        "the wrong Sec-WebSocket-Accept",
        "200 OK",
        "403 Forbidden",
        "101 without its headers",
        "zeros",
    ],
)
async def test_an_upgrade_that_is_none_is_one_defined_error_at_once(nursery, answer):
    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(answer(await stream.receive_some()))
            with contextlib.suppress(trio.BrokenResourceError):
                while await stream.receive_some():
                    pass

    url = await serve_tcp(nursery, handle)
    with trio.fail_after(WITHIN_S), pytest.raises(ConnectFailed):
        async with open_connection(url):
            pass
    nursery.cancel_scope.cancel()


async def test_half_an_answer_of_another_protocol_ends_with_the_deadline_of_the_upgrade(nursery):
    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.send_all(b"SSH-2.0-OpenSSH_9.2\r\n")
            with contextlib.suppress(trio.BrokenResourceError):
                while await stream.receive_some():
                    pass

    url = await serve_tcp(nursery, handle)
    with trio.fail_after(WITHIN_S), pytest.raises(ConnectFailed, match="did not answer in time"):
        async with open_connection(url, connect_timeout_s=0.2):
            pass
    nursery.cancel_scope.cancel()


async def test_a_batch_of_commands_is_one_write_of_whole_frames_in_order(nursery):
    got: list[int] = []

    async def behave(peer: Peer) -> None:
        for _ in range(50):
            _, payload = await peer.next_frame()
            got.append(json.loads(payload)["id"])
        for call_id in got:
            await peer.stream.send_all(frame(TEXT, b'{"id":%d,"result":{}}' % call_id))
        with contextlib.suppress(EOFError):
            await peer.next_frame()

    url = await serve(nursery, behave)
    with trio.fail_after(WITHIN_S):
        async with open_connection(url) as connection, trio.open_nursery() as callers:
            for _ in range(50):
                callers.start_soon(connection.call, "Browser.getVersion")
    assert got == list(range(1, 51))
    nursery.cancel_scope.cancel()


async def test_what_the_kernel_takes_only_a_part_of_goes_out_whole_and_in_front_of_the_next(nursery):
    """Small commands are written at once, until a server that does not read fills the kernel's buffers."""
    may_read, has_all = trio.Event(), trio.Event()
    got: list[bytes] = []

    async def behave(peer: Peer) -> None:
        await may_read.wait()
        while not got or got[-1] != b"last":
            got.append((await peer.next_frame())[1])
        has_all.set()

    url = await serve(nursery, behave)
    sent: list[bytes] = []
    with trio.fail_after(WITHIN_S):
        async with open_websocket_transport(url) as transport:
            while not transport.has_rest:
                message = f"{len(sent)}:".encode().ljust(3989, b"x")  # of no buffer's size a divisor
                if not transport.send_nowait(message):
                    break  # the buffers were full to the byte
                sent.append(message)
            assert not transport.send_nowait(b"overtaking")
            may_read.set()
            await transport.send([])
            assert not transport.has_rest
            await transport.send([b"last"])
            await has_all.wait()
    assert got == [*sent, b"last"]
    nursery.cancel_scope.cancel()


async def test_nothing_is_written_behind_the_goodbye(nursery):
    async def behave(peer: Peer) -> None:
        await peer.stream.send_all(frame(CLOSE, struct.pack("!H", 1001) + b"going away"))
        with contextlib.suppress(EOFError):
            while True:
                await peer.next_frame()

    url = await serve(nursery, behave)
    with trio.fail_after(WITHIN_S):
        async with open_websocket_transport(url) as transport:
            with pytest.raises(ConnectionLost, match="1001: going away"):
                await transport.receive()
            with pytest.raises(ConnectionLost, match="1001: going away"):
                transport.send_nowait(b"too late")
    nursery.cancel_scope.cancel()


async def test_a_command_larger_than_a_small_one_is_left_to_the_writer(nursery):
    async def behave(peer: Peer) -> None:
        with contextlib.suppress(EOFError):
            await peer.next_frame()

    url = await serve(nursery, behave)
    async with open_websocket_transport(url) as transport:
        assert not transport.send_nowait(b"x" * 5000)
        assert not transport.has_rest
    nursery.cancel_scope.cancel()
