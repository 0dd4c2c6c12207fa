"""The real host as a child process, with a fake Chrome on its pipes and fake brokers on its socket."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from native_host.framing import CHROME_HEADER
from native_host.protocol import (
    FRAGMENT_BYTES,
    MAX_BROKER_FRAME_BYTES,
    MAX_BROKER_QUEUE_BYTES,
    MAX_FROM_CHROME_BYTES,
    MAX_TO_CHROME_BYTES,
)
from tests.native_host.fakes import HELLO, WAIT_S, FakeBroker, FakeChrome, Frame, call_frame, wait_for
from tests.shared import case_input

MEGABYTE = "x" * 1_000_000


@pytest.fixture
def chrome(tmp_path: Path) -> Iterator[FakeChrome]:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        chrome.ready()
        yield chrome


def result(conn: int, call_id: int, value: object = 1) -> Frame:
    return {"conn": conn, "type": "result", "id": call_id, "ok": True, "value": value}


def assert_works(chrome: FakeChrome, broker: FakeBroker, conn: int, call_id: int) -> None:
    """One call there and back."""
    broker.send(call_frame(call_id))
    assert chrome.receive() == {"conn": conn, **call_frame(call_id)}
    chrome.send(result(conn, call_id))
    assert broker.receive_type("result")["id"] == call_id


def test_a_call_goes_to_the_worker_and_its_result_comes_back(chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    with broker:
        broker.send(call_frame(7))
        assert chrome.receive_type("call") == {"conn": conn, **call_frame(7)}
        chrome.send(result(conn, 7, {"body": "é😀"}))
        assert broker.receive() == {"type": "result", "id": 7, "ok": True, "value": {"body": "é😀"}}


def test_many_brokers_share_one_browser_and_never_see_each_other(chrome: FakeChrome) -> None:
    brokers = [chrome.connect_and_greet() for _ in range(8)]
    for call_id in range(15):  # 120 in all, below the limit of 128
        for broker, conn in brokers:
            broker.send(call_frame(call_id, params={"from": conn}))
    for _ in range(8 * 15):
        call = chrome.receive_type("call")
        assert call["params"] == {"from": call["conn"]}
        chrome.send(result(call["conn"], call["id"], {"for": call["conn"]}))
    for broker, conn in brokers:
        answers = [broker.receive_type("result") for _ in range(15)]
        assert [answer["id"] for answer in answers] == list(range(15))
        assert all(answer["value"] == {"for": conn} for answer in answers)
        broker.close()


def test_c037b_a_broker_that_leaves_is_reported_once_and_the_others_stay(chrome: FakeChrome) -> None:
    leaving, gone = chrome.connect_and_greet()
    staying, conn = chrome.connect_and_greet()
    leaving.send(call_frame(1))
    chrome.receive_type("call")
    leaving.close()
    closed = chrome.receive_type("conn_close")
    assert closed["conn"] == gone
    chrome.send(result(gone, 1))
    with staying:
        assert_works(chrome, staying, conn, 1)
    assert chrome.receive_type("conn_close")["conn"] == conn


def test_c030_bad_headers_end_their_own_connection_only(chrome: FakeChrome) -> None:
    other, conn = chrome.connect_and_greet()
    good, swapped, longest, empty = (
        bytes.fromhex(line) for line in case_input("C-030-headers.hex").read_text().split()
    )
    for data, part in [
        (good, "is none of"),
        (swapped, "frame of 201326592 bytes"),
        (longest, "frame of 4294967295 bytes"),
        (empty, "frame of 0 bytes"),
    ]:
        with chrome.connect() as broker:
            broker.socket.sendall(data)
            error = broker.receive_type("error")
            assert error["code"] == "INVALID_ARGUMENT"
            assert part in error["message"]
            assert broker.receive() is None
    with other:
        assert_works(chrome, other, conn, 1)


def test_a_frame_byte_by_byte_is_one_frame(chrome: FakeChrome) -> None:
    with chrome.connect() as broker:
        payload = json.dumps(HELLO).encode()
        for byte in len(payload).to_bytes(4, "big") + payload:
            broker.socket.sendall(bytes([byte]))
        assert broker.receive_type("welcome")


def test_a_frame_that_is_cut_by_the_end_is_dropped(chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    payload = json.dumps(call_frame(1)).encode()
    broker.socket.sendall(len(payload).to_bytes(4, "big") + payload[:-1])
    broker.close()
    assert chrome.receive_type("conn_close")["conn"] == conn


def test_a_lone_surrogate_reaches_chrome_as_valid_utf8(chrome: FakeChrome) -> None:
    broker, _ = chrome.connect_and_greet()
    with broker:
        broker.send(call_frame(1, params={"question": "\ud800 and \U0001f600"}))
        assert chrome.receive_type("call")["params"] == {"question": "� and 😀"}


@pytest.mark.parametrize("text", ["😀" * 100_000, '"' * 600_000, "\x01" * 200_000, "a" * 1_500_000, "é" * 5_000_000])
def test_c035_large_calls_arrive_in_messages_that_chrome_accepts(text: str, chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    with broker:
        broker.send(call_frame(1, params={"content": text}))
        assert chrome.receive_type("call")["params"] == {"content": text}
        assert chrome.largest_payload_bytes <= MAX_TO_CHROME_BYTES
        assert_works(chrome, broker, conn, 2)


def test_a_large_answer_arrives_whole(chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    body = 'é😀"\\' * 1_500_000
    with broker, ThreadPoolExecutor(1) as pool:
        broker.send(call_frame(1))
        chrome.receive_type("call")
        sending = pool.submit(chrome.send, result(conn, 1, {"body": body}))
        assert broker.receive_type("result")["value"]["body"] == body
        sending.result(WAIT_S)


def test_a_small_call_does_not_wait_for_another_brokers_upload(chrome: FakeChrome) -> None:
    """Nothing is read on Chrome's side until both are sent, so their order is the host's choice."""
    uploading, upload_conn = chrome.connect_and_greet()
    asking, conn = chrome.connect_and_greet()
    with uploading, asking:
        uploading.send(call_frame(1, params={"data": "x" * (8 * FRAGMENT_BYTES)}))
        first = chrome.receive_raw()
        assert first is not None
        assert (first["type"], first["conn"]) == ("fragment", upload_conn)
        asking.send(call_frame(1))
        asking.send({"type": "ping", "t": 1})
        asking.receive_type("pong")  # so the call before it has been read as well
        frames: list[Frame] = []
        while not frames or frames[-1]["type"] == "fragment":
            frame = chrome.receive_raw()
            assert frame is not None
            frames.append(frame)
        assert frames[-1]["conn"] == conn
        assert len(frames) < 8, "it overtook the rest of the upload"


def test_a_broker_is_not_read_faster_than_chrome_takes(chrome: FakeChrome) -> None:
    """Its own kernel buffer fills up, so memory in the host stays bounded, and others are served."""
    flooding, conn = chrome.connect_and_greet()
    asking, _ = chrome.connect_and_greet()
    with flooding, asking:
        flooding.socket.setblocking(False)
        payload = json.dumps(call_frame(1, params={"data": "x" * 400_000})).encode()
        data = b"".join(
            len(one).to_bytes(4, "big") + one
            for one in (payload.replace(b'"id": 1', b'"id": %d' % call_id, 1) for call_id in range(32))
        )
        sent = 0
        with pytest.raises(BlockingIOError):
            while sent < len(data):
                sent += flooding.socket.send(data[sent : sent + 100_000])
                asking.send({"type": "ping", "t": sent})
                assert asking.receive_type("pong")["t"] == sent
        assert sent < len(data) // 2
        with ThreadPoolExecutor(1) as pool:
            flooding.socket.settimeout(WAIT_S)
            rest = pool.submit(flooding.socket.sendall, data[sent:])
            calls = [chrome.receive_type("call") for _ in range(32)]
            rest.result(WAIT_S)
        assert [call["id"] for call in calls] == list(range(32))
        assert {call["conn"] for call in calls} == {conn}


def test_a_broker_that_does_not_read_loses_its_stream_and_the_others_do_not_notice(chrome: FakeChrome) -> None:
    slow, slow_conn = chrome.connect_and_greet()
    other, conn = chrome.connect_and_greet()
    slow.send(call_frame(1, "stream"))
    chrome.receive_type("call")
    with ThreadPoolExecutor(1) as pool, slow, other:
        cancelled = pool.submit(chrome.receive_type, "cancel")
        sent = 0
        while not cancelled.done():
            assert sent < 40, "no limit"
            chrome.send({"conn": slow_conn, "type": "chunk", "id": 1, "seq": sent, "data": MEGABYTE})
            sent += 1
            other.send({"type": "ping", "t": sent})
            assert other.receive_type("pong")["t"] == sent
        assert cancelled.result() == {
            "conn": slow_conn,
            "type": "cancel",
            "id": 1,
            "reason": "the broker does not read",
        }
        assert sent * len(MEGABYTE) > MAX_BROKER_QUEUE_BYTES
        assert_works(chrome, other, conn, 1)
        frames: list[Frame] = []
        while not frames or frames[-1]["type"] == "chunk":
            frame = slow.receive()
            assert frame is not None
            frames.append(frame)
        assert [frame["seq"] for frame in frames[:-1]] == list(range(len(frames) - 1)), "what came is without gaps"
        assert frames[-1]["error"]["code"] == "STREAM_SEVERED"
        chrome.send(result(slow_conn, 1))
        assert_works(chrome, slow, slow_conn, 2)


def test_the_sixty_fifth_broker_is_turned_away(chrome: FakeChrome) -> None:
    brokers = [chrome.connect() for _ in range(64)]
    for broker in brokers:
        broker.hello()
    with chrome.connect() as one_too_many:
        assert one_too_many.receive() is None
    for broker in brokers:
        broker.close()
    wait_for(lambda: chrome.log().count(" is over: ") == 64, "end of 64 connections")
    with chrome.connect() as broker:
        broker.hello()


@pytest.mark.parametrize("is_byte_by_byte", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("index", range(7))
def test_c036_streams_from_chrome(index: int, is_byte_by_byte: bool, tmp_path: Path) -> None:
    streams = json.loads(case_input("C-036-stdin-streams.json").read_text())
    assert len(streams) == 7
    stream = streams[index]
    data = bytes.fromhex(stream["hex"])
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        for piece in [data[i : i + 1] for i in range(len(data))] if is_byte_by_byte else [data]:
            chrome.send_bytes(piece)
        if "refused" in stream["expect"]:
            assert chrome.process.wait(2) == 0
            assert "Chrome sent what is no frame" in chrome.log()
        else:
            assert chrome.close_port() == 0
        messages = chrome.log().count("frame of the worker ignored")
        assert messages == {"one": 1, "two": 2}.get(stream["expect"].split()[0], 0)
        assert chrome.receive_raw() is None, "nothing but frames, and here none"
        assert "Traceback" not in chrome.log()


def test_a_ping_of_the_worker_in_pieces_is_answered(chrome: FakeChrome) -> None:
    payload = '{"conn":0,"type":"ping","t":"café 😀"}'.encode()
    for byte in CHROME_HEADER.pack(len(payload)) + payload:
        chrome.send_bytes(bytes([byte]))
    assert chrome.receive() == {"conn": 0, "type": "pong", "t": "café 😀"}


def test_a_length_above_the_limit_from_chrome_is_refused_at_once(chrome: FakeChrome) -> None:
    chrome.send_bytes(CHROME_HEADER.pack(MAX_FROM_CHROME_BYTES + 1))
    assert chrome.process.wait(2) == 0
    assert not chrome.socket_path.exists()


def test_a_header_that_promises_much_reserves_no_memory(chrome: FakeChrome) -> None:
    with chrome.connect() as broker:
        broker.socket.sendall(MAX_BROKER_FRAME_BYTES.to_bytes(4, "big") + b"{")
        with chrome.connect() as other:
            other.hello()
        status = Path(f"/proc/{chrome.process.pid}/status").read_text()
        resident_kb = int(status.split("VmRSS:")[1].split()[0])
        assert resident_kb < 40_000


def test_an_idle_host_uses_no_processor_time(chrome: FakeChrome) -> None:
    """C-037, C-038: no spinning when brokers have come and gone, and with none at all."""
    chrome.connect().close()
    broker, conn = chrome.connect_and_greet()
    broker.close()
    assert chrome.receive_type("conn_close")["conn"] == conn

    def ticks() -> int:
        fields = Path(f"/proc/{chrome.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before, switches_before = ticks(), context_switches(chrome.process.pid)
    with FakeChrome(chrome.home) as second:  # takes a while, which is all the waiting that is needed
        second.wait_until_listening()
        assert second.close_port() == 0
    assert ticks() - before <= 1
    assert context_switches(chrome.process.pid) - switches_before <= 2


def context_switches(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def test_two_hosts_of_two_profiles_have_two_sockets(chrome: FakeChrome) -> None:
    with FakeChrome(chrome.home) as second:
        wait_for(second.socket_path.exists, "second socket")
        assert second.socket_path != chrome.socket_path
        with second.connect() as broker:
            assert broker.hello()["host"]["pid"] == second.process.pid
        assert second.close_port() == 0
    assert chrome.socket_path.exists()


def test_a_broker_of_another_version_is_told_and_closed(chrome: FakeChrome) -> None:
    with chrome.connect() as broker:
        broker.send({**HELLO, "v_min": 2, "v_max": 3, "build": "9.9"})
        assert broker.receive_type("error")["code"] == "VERSION_SKEW"
        assert broker.receive() is None


def test_the_log_has_no_content_of_calls_or_answers(chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    with broker:
        broker.send(call_frame(1, params={"question": "a private question"}))
        chrome.receive_type("call")
        chrome.send(result(conn, 1, {"body": "a private answer"}))
        broker.receive_type("result")
        broker.send({"type": "call", "id": "a private id"})
        broker.receive_type("error")
    assert chrome.close_port() == 0
    assert "connection 1 opens: test, broker build" in chrome.log()
    assert "private" not in chrome.log()
    assert os.stat(chrome.home / "logs" / "native_host.log").st_mode & 0o777 == 0o600
