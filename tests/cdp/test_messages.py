"""The message core: commands out, responses, errors and events in."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp.errors import BadMessage
from cdp.messages import (
    ErrorResponse,
    Event,
    Response,
    encode_command,
    maybe_event_name,
    parse_cdp_message_untrusted,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.integers(1, 2**53), st.text(min_size=1), st.dictionaries(st.text(), JSON, max_size=4))
def test_a_command_is_read_back_as_it_was_given(call_id, method, params):
    assert json.loads(encode_command(call_id, method, params)) == {"id": call_id, "method": method, "params": params}


def test_a_command_for_a_target_carries_its_session_beside_the_params():
    command = json.loads(encode_command(7, "Page.enable", None, "S1"))
    assert command == {"id": 7, "method": "Page.enable", "params": {}, "sessionId": "S1"}


def test_a_lone_surrogate_goes_out_and_comes_in_as_an_escape():
    """JavaScript strings may hold one, and Chrome escapes it as it is."""
    text = encode_command(1, "Runtime.evaluate", {"expression": "\ud800"})
    assert text.isascii()
    assert json.loads(text)["params"]["expression"] == "\ud800"
    message = parse_cdp_message_untrusted('{"id":1,"result":{"value":"\\ud83d"}}')
    assert message == Response(1, {"value": "\ud83d"})


def test_something_json_has_no_word_for_is_our_own_mistake():
    with pytest.raises(TypeError):
        encode_command(1, "Runtime.evaluate", {"expression": object()})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id":3,"result":{"a":1}}', Response(3, {"a": 1})),
        ('{"id":3,"result":{},"sessionId":"S"}', Response(3, {}, "S")),
        ('{"method":"Target.targetCreated","params":{"x":[]}}', Event("Target.targetCreated", {"x": []})),
        ('{"method":"Page.loadEventFired","sessionId":"S"}', Event("Page.loadEventFired", {}, "S")),
        ('{"id":4,"error":{"code":-32601,"message":"no"}}', ErrorResponse(4, -32601, "no")),
        ('{"error":{"code":-32700,"message":"bad","data":"at 3"}}', ErrorResponse(None, -32700, "bad", "at 3")),
    ],
)
def test_each_kind_of_message_becomes_its_class(text, message):
    assert parse_cdp_message_untrusted(text) == message
    assert parse_cdp_message_untrusted(text.encode()) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"id":1}',
        '{"id":"1","result":{}}',
        '{"id":true,"result":{}}',
        '{"id":1,"result":[]}',
        '{"id":1,"error":"no"}',
        '{"id":1,"error":{"code":"x","message":"no"}}',
        '{"id":1.5,"error":{"code":1,"message":"no"}}',
        '{"method":7}',
        '{"method":"m","params":[]}',
        '{"method":"m","sessionId":3}',
        "[" * 100_000,
    ],
)
def test_anything_else_is_a_bad_message(text):
    with pytest.raises(BadMessage):
        parse_cdp_message_untrusted(text)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_arrives_only_bad_message_leaves_the_parser(data):
    with suppress(BadMessage):
        parse_cdp_message_untrusted(data)


@pytest.mark.parametrize("name", ["Target\\u002ecrashed", "Target\u0486arge"])
def test_an_event_whose_name_is_not_written_plainly_is_read_whole(name: str) -> None:
    """Found by the fuzzer: the quick look saw another name than the whole reading, and the event was lost."""
    text = f'{{"method":"{name}","params":{{}}}}'
    assert maybe_event_name(text) is None
    assert maybe_event_name(text.encode()) is None
    message = parse_cdp_message_untrusted(text.encode())
    assert isinstance(message, Event)
    assert message.method == json.loads(f'"{name}"')
