import json
import socket
from collections.abc import Iterator

import pytest

from native_host.broker_socket import BrokerGone, BrokerSocket
from native_host.framing import BROKER_HEADER, FrameDecoder
from native_host.protocol import MAX_BROKER_FRAME_BYTES


@pytest.fixture
def pair() -> Iterator[tuple[BrokerSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(5)
    broker = BrokerSocket(1, ours)
    yield broker, theirs
    broker.close()
    theirs.close()


def receive(theirs: socket.socket, count: int) -> list[bytes]:
    decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
    frames: list[bytes] = []
    while len(frames) < count:
        while (frame := decoder.maybe_next_frame()) is not None:
            frames.append(bytes(frame))
        if len(frames) < count:
            decoder.feed_untrusted(theirs.recv(1 << 16))
    return frames


def test_frames_leave_whole_and_in_order_however_slowly_they_are_read(pair: tuple[BrokerSocket, socket.socket]) -> None:
    broker, theirs = pair
    payloads = [json.dumps({"n": number, "x": "y" * (number * 997 % 20_000)}).encode() for number in range(400)]
    payloads.append(b"z" * 3_000_000)
    for payload in payloads:
        broker.put(payload)
    done_bytes = broker.write()
    assert broker.has_more
    assert 0 < done_bytes < sum(map(len, payloads))
    decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
    frames: list[bytes] = []
    while len(frames) < len(payloads):
        decoder.feed_untrusted(theirs.recv(99_991))
        while (frame := decoder.maybe_next_frame()) is not None:
            frames.append(bytes(frame))
        done_bytes += broker.write()
    assert frames == payloads
    assert done_bytes == sum(map(len, payloads)), "headers are not counted"
    assert not broker.has_more


def test_a_view_into_a_larger_buffer_can_be_sent(pair: tuple[BrokerSocket, socket.socket]) -> None:
    broker, theirs = pair
    broker.put(memoryview(bytearray(b'{"conn":1{"type":"x"}'))[9:])
    assert broker.write() == 12
    assert receive(theirs, 1) == [b'{"type":"x"}']


def test_reading_gives_frames_and_says_when_nothing_is_there(pair: tuple[BrokerSocket, socket.socket]) -> None:
    broker, theirs = pair
    assert not broker.read()
    theirs.sendall(BROKER_HEADER.pack(2) + b"{}")
    assert broker.read()
    assert broker.decoder.maybe_next_frame() == b"{}"


def test_a_closed_peer_is_gone_for_reading_and_writing(pair: tuple[BrokerSocket, socket.socket]) -> None:
    broker, theirs = pair
    theirs.close()
    with pytest.raises(BrokerGone, match="the broker closed its socket"):
        broker.read()
    broker.put(b"{}")
    with pytest.raises(BrokerGone):
        broker.write()
