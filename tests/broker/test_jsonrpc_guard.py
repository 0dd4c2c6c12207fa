import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from broker.jsonrpc_guard import BadFrame, encode_message, parse_message_untrusted
from tests.shared import case_input


def refused(line: bytes) -> tuple[int, object]:
    with pytest.raises(BadFrame) as caught:
        parse_message_untrusted(line)
    return caught.value.code, caught.value.request_id


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"{nonsense", (-32700, None)),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}trailing', (-32700, None)),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', (-32600, 1)),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', (-32700, None)),
        (b"[" * 20000, (-32700, None)),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', (-32600, None)),
        (b"42", (-32600, None)),
        (b"{}", (-32600, None)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (-32600, None)),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', (-32600, None)),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (-32600, None)),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', (-32600, None)),
        (b'{"jsonrpc":"2.0","id":3}', (-32600, 3)),
        (b'{"jsonrpc":"1.0","id":6,"method":"ping"}', (-32600, 6)),
        (b'{"id":6,"method":"ping"}', (-32600, 6)),
        (b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":["x"]}', (-32602, 4)),
        (b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"\\ud800"}}', (-32600, "s")),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', (-32600, None)),
    ],
)
def test_c010_every_broken_shape_is_answered_with_its_id_where_one_can_be_read(line: bytes, answer: tuple[int, object]):
    assert refused(line) == answer


@pytest.mark.parametrize("request_id", [0, "", "0", -1, 9007199254740991, 2**70, "é"])
def test_c011_unusual_ids_keep_value_and_type(request_id: int | str):
    message = parse_message_untrusted(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "ping"}).encode())
    assert isinstance(message, JSONRPCRequest)
    assert (type(message.id), message.id) == (type(request_id), request_id)
    answer = json.loads(encode_message(JSONRPCResponse(jsonrpc="2.0", id=message.id, result={})))
    assert (type(answer["id"]), answer["id"]) == (type(request_id), request_id)


def test_a_notification_that_mentions_an_id_further_inside_is_served():
    line = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"x":{"id":2}}}'
    assert isinstance(parse_message_untrusted(line), JSONRPCNotification)


def test_c010_the_case_file_is_refused_or_read_line_by_line():
    outcomes: list[object] = []
    for line in case_input("C-010-shapes.txt").read_bytes().splitlines():
        try:
            outcomes.append(type(parse_message_untrusted(line)).__name__)
        except BadFrame as bad:
            outcomes.append((bad.code, bad.request_id))
    assert outcomes == [
        (-32600, None),
        (-32600, None),
        (-32600, None),
        (-32600, 3),
        (-32602, 4),
        "JSONRPCNotification",
        "JSONRPCRequest",
        (-32600, 6),
        (-32600, None),
        (-32600, None),
        "JSONRPCRequest",
    ]


@given(st.text())
def test_c007_line_separators_leave_only_escaped_and_come_back_whole(text: str):
    line = encode_message(JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": text}))
    assert json.loads(line)["result"]["text"] == text
    assert len(line.decode().splitlines()) == 1
    assert b"\r" not in line


def test_a_lone_surrogate_cannot_be_encoded():
    with pytest.raises(ValueError, match="surrogates"):
        encode_message(JSONRPCResponse(jsonrpc="2.0", id=1, result={"text": "\ud800"}))


def test_an_error_without_a_readable_id_says_null():
    response = BadFrame(-32700, "Parse error").response
    assert isinstance(response, JSONRPCError)
    assert json.loads(encode_message(response))["id"] is None
