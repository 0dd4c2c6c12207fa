import socket
from collections.abc import Iterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from broker.frame_reader import read_payloads
from native_host.framing import BROKER_HEADER, BadFrame
from native_host.protocol import MAX_BROKER_FRAME_BYTES


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, peer = socket.socketpair()
    ours.setblocking(False)
    with ours, peer:
        yield ours, peer


def frame(payload: bytes) -> bytes:
    return BROKER_HEADER.pack(len(payload)) + payload


class Inbox(list[bytes]):
    def take(self, payload: bytes | bytearray) -> bool:
        self.append(bytes(payload))
        return True


async def test_payloads_come_in_order_and_a_clean_end_is_told(pair: tuple[socket.socket, socket.socket]) -> None:
    inbox = Inbox()
    pair[1].sendall(frame(b"one") + frame(b"two" * 20_000) + frame(b"three"))
    pair[1].close()
    assert await read_payloads(pair[0], inbox.take)
    assert inbox == [b"one", b"two" * 20_000, b"three"]


@pytest.mark.parametrize("cut", [b"\x00", frame(b"x" * 70_000)[:-1], frame(b"small")[:-1]])
async def test_an_end_inside_a_frame_is_told(pair: tuple[socket.socket, socket.socket], cut: bytes) -> None:
    pair[1].sendall(cut)
    pair[1].close()
    assert not await read_payloads(pair[0], Inbox().take)


async def test_a_large_frame_in_many_pieces_is_put_together(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    inbox, payload = Inbox(), bytes(range(256)) * 8_000
    nursery.start_soon(read_payloads, pair[0], inbox.take)
    data = frame(b"before") + frame(payload) + frame(b"after")
    for start in range(0, len(data), 100_000):
        pair[1].sendall(data[start : start + 100_000])
        await wait_all_tasks_blocked()
    assert inbox == [b"before", payload, b"after"]


async def test_reading_stops_when_it_is_told_to(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].sendall(frame(b"one") + frame(b"two"))
    seen = Inbox()

    def take_one(payload: bytes | bytearray) -> bool:
        seen.take(payload)
        return False

    assert await read_payloads(pair[0], take_one)
    assert seen == [b"one"]


@pytest.mark.parametrize("length", [0, MAX_BROKER_FRAME_BYTES + 1, 0xFFFFFFFF])
async def test_c030_a_bad_length_ends_the_reading_before_its_body(
    pair: tuple[socket.socket, socket.socket], length: int
) -> None:
    pair[1].sendall(frame(b"good") + BROKER_HEADER.pack(length))
    inbox = Inbox()
    with pytest.raises(BadFrame):
        await read_payloads(pair[0], inbox.take)
    assert inbox == [b"good"]


async def test_a_peer_that_never_pauses_does_not_starve_other_tasks(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    pair[1].setblocking(False)
    turns = 0

    def take_and_refill(payload: bytes | bytearray) -> bool:
        while True:  # the peer writes whenever there is room, so the socket never runs dry
            try:
                pair[1].send(frame(b"x" * 1000))
            except BlockingIOError:
                return turns < 50

    async def other_task() -> None:
        nonlocal turns
        for _ in range(50):
            await trio.lowlevel.checkpoint()
            turns += 1

    pair[1].send(frame(b"start"))
    async with trio.open_nursery() as inner:
        inner.start_soon(other_task)
        await read_payloads(pair[0], take_and_refill)
    assert turns == 50
