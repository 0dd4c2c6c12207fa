import base64
import json
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from native_host.outbox import ChromeOutbox
from native_host.protocol import FRAGMENT_BYTES


def drain(outbox: ChromeOutbox) -> list[bytes]:
    frames: list[bytes] = []
    while (frame := outbox.maybe_next_frame()) is not None:
        frames.append(frame)
    return frames


def conns(frames: list[bytes]) -> list[int]:
    return [json.loads(frame)["conn"] for frame in frames]


def message(conn: int, size: int = 0) -> bytes:
    return json.dumps({"conn": conn, "type": "call", "params": "x" * size}).encode()


def test_a_small_call_waits_for_one_fragment_and_not_for_a_whole_upload() -> None:
    outbox = ChromeOutbox()
    outbox.put(1, message(1, 4 * FRAGMENT_BYTES), 7)
    assert conns([outbox.maybe_next_frame() or b""]) == [1]
    outbox.put(2, message(2), 1)
    frames = drain(outbox)
    assert conns(frames) == [1, 2, 1, 1, 1]


def test_two_uploads_share_the_way_piece_by_piece() -> None:
    outbox = ChromeOutbox()
    for conn in (1, 2):
        outbox.put(conn, message(conn, 2 * FRAGMENT_BYTES), 7)
    frames = drain(outbox)
    assert conns(frames) == [1, 2, 1, 2, 1, 2]
    for conn in (1, 2):
        parts = [frame for frame in map(json.loads, frames) if frame["conn"] == conn]
        assert b"".join(base64.b64decode(part["data"]) for part in parts) == message(conn, 2 * FRAGMENT_BYTES)


def test_a_message_behind_a_large_one_of_the_same_broker_keeps_its_place() -> None:
    outbox = ChromeOutbox()
    outbox.put(1, message(1, FRAGMENT_BYTES), 7)
    outbox.put(1, b'{"conn":1,"type":"cancel","id":7,"reason":""}', 0)
    assert [json.loads(frame)["type"] for frame in drain(outbox)] == ["fragment", "fragment", "cancel"]


def test_forgetting_drops_the_rest_of_a_message_that_left_in_part() -> None:
    outbox = ChromeOutbox()
    outbox.put(1, message(1, 3 * FRAGMENT_BYTES), 7)
    outbox.maybe_next_frame()
    outbox.forget(1)
    outbox.forget(1)
    outbox.put(1, b'{"conn":1,"type":"conn_close"}', 0)
    assert drain(outbox) == [b'{"conn":1,"type":"conn_close"}']
    assert not outbox


def test_bytes_count_until_the_whole_message_has_left() -> None:
    outbox = ChromeOutbox()
    large = message(1, FRAGMENT_BYTES)
    outbox.put(1, large, 7)
    assert outbox.queued_bytes(1) == len(large)
    outbox.maybe_next_frame()
    assert outbox.queued_bytes(1) == len(large)
    outbox.maybe_next_frame()
    assert outbox.queued_bytes(1) == 0
    assert outbox.queued_bytes(2) == 0


@given(st.lists(st.tuples(st.sampled_from(["put", "take", "forget"]), st.integers(0, 3)), max_size=60))
def test_the_outbox_does_what_one_queue_per_broker_in_turn_does(steps: list[tuple[str, int]]) -> None:
    outbox = ChromeOutbox()
    model: dict[int, deque[bytes]] = {}
    turns: deque[int] = deque()
    for number, (what, conn) in enumerate(steps):
        if what == "put":
            payload = b'{"conn":%d,"n":%d}' % (conn, number)
            outbox.put(conn, payload, 0)
            if conn not in turns:
                turns.append(conn)
            model.setdefault(conn, deque()).append(payload)
        elif what == "forget":
            outbox.forget(conn)
            model.pop(conn, None)
            turns = deque(turn for turn in turns if turn != conn)
        elif not turns:
            assert outbox.maybe_next_frame() is None
        else:
            turn = turns.popleft()
            assert outbox.maybe_next_frame() == model[turn].popleft()
            if model[turn]:
                turns.append(turn)
        assert bool(outbox) is bool(turns)
        for lane in range(4):
            assert outbox.queued_bytes(lane) == sum(map(len, model.get(lane, ())))
