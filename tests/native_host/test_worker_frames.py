import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_host.messages import BadMessage
from native_host.protocol import WORKER_TO_HOST
from native_host.worker_frames import read_worker_frame_untrusted
from tests.native_host.fakes import Frame, dump

VALUE = {"conn": 6, "body": "é😀"}
RESULT: Frame = {"conn": 5, "type": "result", "id": 7, "ok": True, "value": VALUE, "hops": {"worker_ms": 1.5}}


def without_conn(frame: Frame) -> Frame:
    return {key: value for key, value in frame.items() if key != "conn"}


def test_a_result_is_routed_by_its_first_bytes_and_its_body_is_not_touched() -> None:
    payload = bytearray(dump(RESULT))
    frame = read_worker_frame_untrusted(payload)
    assert (frame.kind, frame.conn, frame.call_id) == ("result", 5, 7)
    assert isinstance(frame.payload, memoryview), "no copy"
    assert json.loads(bytes(frame.payload)) == without_conn(RESULT)
    assert bytes(frame.payload) == dump(without_conn(RESULT))


def test_the_fast_way_does_not_read_json() -> None:
    """Its rest may be megabytes; Chrome wrote it, and the broker reads it anyway."""
    frame = read_worker_frame_untrusted(bytearray(b'{"conn":5,"type":"chunk","id":7,"seq":0,"data":oops'))
    assert bytes(frame.payload) == b'{"type":"chunk","id":7,"seq":0,"data":oops'


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"result","conn":5,"id":7,"ok":true}',
        '{ "conn": 5, "type": "result", "id": 7, "ok": true }',
        '{"conn":5,"type":"result","ok":true,"id":7}',
        '{"conn":5,"type":"result","id":7,"ok":true}',
    ],
)
def test_any_order_and_spacing_gives_the_same(text: str) -> None:
    frame = read_worker_frame_untrusted(bytearray(text.encode()))
    assert (frame.kind, frame.conn, frame.call_id) == ("result", 5, 7)
    assert json.loads(bytes(frame.payload)) == {"type": "result", "id": 7, "ok": True}


@given(conn=st.integers(0, 10**15 - 1), call_id=st.integers(0, 2**53 - 1), kind=st.sampled_from(["result", "chunk"]))
def test_the_fast_and_the_slow_way_agree(conn: int, call_id: int, kind: str) -> None:
    rest = {"ok": True, "value": [1]} if kind == "result" else {"seq": 0, "data": "x"}
    message: Frame = {"conn": conn, "type": kind, "id": call_id, **rest}
    fast = read_worker_frame_untrusted(bytearray(dump(message)))
    slow = read_worker_frame_untrusted(bytearray(json.dumps(message).encode()))
    assert (fast.kind, fast.conn, fast.call_id) == (slow.kind, slow.conn, slow.call_id) == (kind, conn, call_id)
    assert json.loads(bytes(fast.payload)) == json.loads(bytes(slow.payload)) == without_conn(message)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "result", "id": 7, "ok": True},
        {"conn": "5", "type": "result", "id": 7, "ok": True},
        {"conn": True, "type": "result", "id": 7, "ok": True},
        {"conn": -1, "type": "result", "id": 7, "ok": True},
        {"conn": 5, "type": "result", "ok": True},
        {"conn": 5, "type": "call", "id": 7},
        {"conn": 5, "type": "welcome"},
        {"conn": 5},
        {"t": "ping"},
        {},
    ],
    ids=json.dumps,
)
def test_what_a_worker_may_not_send_is_a_bad_message(frame: Frame) -> None:
    with pytest.raises(BadMessage):
        read_worker_frame_untrusted(bytearray(dump(frame)))


@given(st.binary(max_size=80))
def test_untrusted_bytes_raise_nothing_but_bad_message(data: bytes) -> None:
    try:
        frame = read_worker_frame_untrusted(bytearray(data))
    except BadMessage:
        return
    assert frame.kind in WORKER_TO_HOST
