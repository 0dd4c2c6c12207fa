import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import relay_frames
from broker.relay_frames import (
    BadHostFrame,
    Chunk,
    Event,
    ExtensionInfo,
    Ping,
    Pong,
    ProtocolError,
    Result,
    Welcome,
    parse_host_frame_untrusted,
)
from native_host.build import BUILD
from native_host.protocol import HOST_TO_BROKER, MESSAGES

GOOD: dict[str, dict[str, Any]] = {
    "welcome": {
        "type": "welcome",
        "v": 1,
        "host": {"build": "0.1.0", "pid": 7},
        "extension": {"build": "0.1.0", "id": "abc", "profile": "p1"},
        "account": "ada@example.com",
    },
    "result": {"type": "result", "id": 3, "ok": True, "value": {"a": [1]}, "hops": {"worker_ms": 1.5, "tab_ms": 0}},
    "chunk": {"type": "chunk", "id": 3, "seq": 0, "data": "é𝄞"},
    "event": {"type": "event", "name": "tab_discarded", "detail": {"tab": 1}},
    "ping": {"type": "ping", "t": 12},
    "pong": {"type": "pong", "t": 12, "worker_last_seen_ms": 80},
    "error": {"type": "error", "code": "VERSION_SKEW", "message": "no common version"},
}


def parse(frame: object) -> relay_frames.HostFrame:
    return parse_host_frame_untrusted(json.dumps(frame).encode())


def test_the_host_may_send_exactly_the_frames_of_the_table() -> None:
    assert GOOD.keys() == HOST_TO_BROKER
    for frame in GOOD.values():
        parse(frame)
    for kind in MESSAGES.keys() - HOST_TO_BROKER:
        with pytest.raises(BadHostFrame):
            parse({"type": kind, "id": 1})


def test_each_frame_becomes_its_value() -> None:
    extension = ExtensionInfo(build="0.1.0", id="abc", profile="p1")
    assert parse(GOOD["welcome"]) == Welcome(1, "0.1.0", 7, extension, "ada@example.com")
    assert parse(GOOD["chunk"]) == Chunk(3, 0, "é𝄞")
    assert parse(GOOD["event"]) == Event("tab_discarded", {"tab": 1})
    assert parse(GOOD["ping"]) == Ping(12)
    assert parse(GOOD["pong"]) == Pong(80.0)
    assert parse(GOOD["error"]) == ProtocolError("VERSION_SKEW", "no common version")
    result = parse(GOOD["result"])
    assert isinstance(result, Result)
    assert (result.id, result.value, result.error) == (3, {"a": [1]}, None)
    assert result.hops == {"worker_ms": 1.5, "tab_ms": 0}


def test_a_host_without_its_worker_says_so() -> None:
    welcome = parse(GOOD["welcome"] | {"extension": None, "account": None})
    assert isinstance(welcome, Welcome)
    assert welcome.extension is None
    assert welcome.account is None


@pytest.mark.parametrize(("sent", "started"), [(False, False), (True, True), (None, True), (0, True), ("no", True)])
def test_only_a_plain_false_proves_that_nothing_was_started(sent: object, started: bool) -> None:
    error = {"code": "TIMEOUT", "message": "too late", "detail": {"after_ms": 3}, "started": sent}
    result = parse({"type": "result", "id": 3, "ok": False, "error": error})
    assert isinstance(result, Result)
    assert result.error is not None
    assert result.error.started is started
    assert result.error.detail == {"after_ms": 3}


FREE = {"value", "detail", "t", "extension", "account"}  # may be any JSON, or null


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in sorted(GOOD) for name in MESSAGES[kind][0] if name not in FREE]
)
def test_a_required_field_that_is_missing_or_of_another_type_is_refused(kind: str, name: str) -> None:
    no_types: tuple[object, ...] = (None, [], 2.5, {})
    for wrong in no_types:
        with pytest.raises(BadHostFrame):
            parse(GOOD[kind] | {name: wrong})


@pytest.mark.parametrize(
    "payload", [b"", b"\xff{}", b"nul", b"[]", b'"result"', b"{}", b'{"type":[]}', b'{"type":"result"', b"[" * 5000]
)
def test_what_is_no_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(BadHostFrame):
        parse_host_frame_untrusted(payload)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_no_other_error_leaves_the_parser(kind: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(GOOD[kind])))
    frame = GOOD[kind] | {name: data.draw(JSON)}
    with contextlib.suppress(BadHostFrame):
        parse(frame)


def test_what_we_send_has_the_fields_of_the_table() -> None:
    sent = [
        relay_frames.encode_hello("cursor", "1.2", 77),
        relay_frames.encode_call(
            5, "rpc", {"rpc": "x"}, notebook=None, account="a@b", not_after_ms=9, traceparent="00-1"
        ),
        relay_frames.encode_cancel(5, "caller cancelled"),
        relay_frames.encode_ping(1),
        relay_frames.encode_pong(1),
        relay_frames.encode_protocol_error("INVALID_ARGUMENT", "why"),
    ]
    for payload in sent:
        frame = json.loads(payload)
        required, optional = MESSAGES[frame.pop("type")]
        assert set(required) <= frame.keys() <= {*required, *optional}
    hello = json.loads(sent[0])
    assert hello["client"] == {"name": "cursor", "version": "1.2"}
    assert hello["build"] == BUILD


@pytest.mark.parametrize(
    ("tool", "trace"), [("ask", {"traceparent": "00-1", "tool": "ask"}), ("", {"traceparent": "00-1"})]
)
def test_a_call_names_the_tool_it_works_for(tool: str, trace: dict[str, str]) -> None:
    payload = relay_frames.encode_call(
        5, "rpc", {}, notebook=None, account="a@b", not_after_ms=9, traceparent="00-1", tool=tool
    )
    assert json.loads(payload)["trace"] == trace


def test_whatever_the_client_calls_itself_the_host_can_take_it() -> None:
    hello = json.loads(relay_frames.encode_hello("x" * 5000, "\ud800", 77))
    assert hello["client"] == {"name": "x" * 200, "version": "?"}
