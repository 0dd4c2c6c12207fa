"""Whatever comes through the debugging pipe, it is cut into the same messages however it arrived, each message is one
of the three kinds or `BadMessage`, and the quick look at an event's name agrees with the whole reading.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdp.errors import BadMessage, ConnectionLost
from cdp.messages import Event, encode_command, maybe_event_name, parse_cdp_message_untrusted
from cdp.pipe import MessageSplitter
from fuzz.cuts import pieces_of

LIMIT_BYTES = 64 * 1024


def one_input(data: bytes) -> None:
    messages = _messages([data])
    cut = _messages(pieces_of(data))
    if messages is not None:
        assert cut == messages
    for text in messages or ():
        quick = maybe_event_name(text)
        try:
            message = parse_cdp_message_untrusted(text)
        except BadMessage as error:
            str(error).encode(errors="backslashreplace")
            continue
        if quick is not None and text.count(b'"method"') == 1:
            assert isinstance(message, Event)
            assert message.method == quick


def _messages(pieces: list[bytes]) -> list[bytes] | None:
    splitter = MessageSplitter(LIMIT_BYTES)
    messages: list[bytes] = []
    try:
        for piece in pieces:
            messages += splitter.feed_untrusted(piece)
    except ConnectionLost:
        return None
    return messages


def seeds() -> Iterator[bytes]:
    event = b'{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"A","title":"\\ud83d"}}}'
    response = b'{"id":1,"result":{"sessionId":"S"},"sessionId":"S"}'
    refused = b'{"id":2,"error":{"code":-32601,"message":"not found","data":"d"}}'
    yield b"\0".join((event, response, refused, b""))
    yield b'{"params":{},"method":"Inspector.detached","sessionId":"S"}\0'
    yield b'{"id":null,"error":{"code":-32700,"message":"Message must be a valid JSON"}}\0'
    yield b'{"id":1e3,"result":[]}\0{"id":true,"result":{}}\0[[[[\0'
    yield encode_command(1, "Runtime.evaluate", {"expression": "'\ud800'"}, "S") + b"\0"
