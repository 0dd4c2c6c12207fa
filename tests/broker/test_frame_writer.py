import socket
from collections.abc import Iterator

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from broker.frame_writer import FrameWriter
from native_host.framing import BROKER_HEADER, BadFrame, FrameDecoder
from native_host.protocol import MAX_BROKER_FRAME_BYTES

LARGE = b"x" * (512 * 1024)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, peer = socket.socketpair()
    ours.setblocking(False)
    peer.setblocking(False)
    with ours, peer:
        yield ours, peer


class Peer:
    """Reads what the socket holds, whenever asked."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)

    def frames(self) -> list[bytes]:
        got = list[bytes]()
        while True:
            try:
                data = self._sock.recv(1 << 20)
            except BlockingIOError:
                return got
            assert data
            self._decoder.feed_untrusted(data)
            while (payload := self._decoder.maybe_next_frame()) is not None:
                got.append(bytes(payload))

    async def frames_until(self, count: int) -> list[bytes]:
        got = self.frames()
        while len(got) < count:
            await trio.lowlevel.wait_readable(self._sock)
            got += self.frames()
        return got


def test_a_frame_goes_out_before_anything_is_awaited(pair: tuple[socket.socket, socket.socket]) -> None:
    async def main() -> None:
        writer = FrameWriter(pair[0])
        writer.send_nowait(b"one")
        writer.send_nowait(b"two" * 10_000)
        assert Peer(pair[1]).frames() == [b"one", b"two" * 10_000]
        assert repr(writer) == "<FrameWriter 0 frames waiting>"

    trio.run(main)


async def test_c031_frames_behind_a_reader_that_pauses_arrive_whole_and_in_order(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    nursery.start_soon(writer.run)
    sent = [LARGE, b"small", LARGE + b"y", b"last"]
    for payload in sent:
        writer.send_nowait(payload)
    await wait_all_tasks_blocked()
    assert await peer.frames_until(4) == sent
    writer.send_nowait(b"at once again")
    assert peer.frames() == [b"at once again"]


async def test_frames_without_haste_leave_together_in_the_next_turn_and_in_order(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    nursery.start_soon(writer.run)
    sent = [bytes([65 + n]) * size for n, size in enumerate((1, 20_000, 3, 16_384, 16_385, 70_000))]
    for payload in sent:
        writer.send_nowait(payload, is_urgent=False)
    assert peer.frames() == []
    writer.send_nowait(b"urgent, but behind them")
    await wait_all_tasks_blocked()
    assert await peer.frames_until(7) == [*sent, b"urgent, but behind them"]
    writer.send_nowait(b"urgent")
    assert peer.frames() == [b"urgent"]


async def test_more_frames_than_one_system_call_takes_leave_all_the_same(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    nursery.start_soon(writer.run)
    sent = [b"%d" % n for n in range(500)]
    for payload in sent:
        writer.send_nowait(payload, is_urgent=False)
    assert await peer.frames_until(500) == sent


async def test_only_a_frame_of_which_nothing_has_left_can_be_withdrawn(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    nursery.start_soon(writer.run)
    writer.send_nowait(b"sent", 1)
    writer.send_nowait(LARGE, 2)
    writer.send_nowait(b"behind it", 3)
    writer.send_nowait(b"control frame")
    assert not writer.withdraw(1)
    assert not writer.withdraw(2)
    assert writer.withdraw(3)
    assert not writer.withdraw(3)
    assert await peer.frames_until(3) == [b"sent", LARGE, b"control frame"]


async def test_withdrawing_the_only_frame_that_waits_leaves_a_working_writer(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    with pytest.raises(BlockingIOError):
        while True:
            pair[0].send(b"\x00\x00\x00\x01z")  # fill the socket to the brim; so few bytes go whole or not at all
    writer.send_nowait(b"unsent", 1)
    nursery.start_soon(writer.run)
    await wait_all_tasks_blocked()
    assert writer.withdraw(1)
    writer.send_nowait(b"sent", 2)
    got = list[bytes]()
    while b"sent" not in got:
        got += await peer.frames_until(1)
    assert b"unsent" not in got


async def test_progress_tells_a_peer_that_reads_slowly_from_one_that_does_not(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    writer, peer = FrameWriter(pair[0]), Peer(pair[1])
    nursery.start_soon(writer.run)
    assert writer.take_progress()
    writer.send_nowait(LARGE * 4)
    await wait_all_tasks_blocked()
    writer.take_progress()
    assert not writer.take_progress()
    peer.frames()
    await wait_all_tasks_blocked()
    assert writer.take_progress()
    assert not writer.take_progress()


async def test_a_peer_that_is_gone_is_an_os_error_for_the_sender_and_the_writing_task(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    writer = FrameWriter(pair[0])
    writer.send_nowait(LARGE * 4)
    pair[1].close()
    with pytest.raises(OSError):
        await writer.run()
    with pytest.raises(OSError):
        FrameWriter(pair[0]).send_nowait(b"x")


@pytest.mark.parametrize("size_bytes", [0, MAX_BROKER_FRAME_BYTES + 1])
async def test_a_frame_that_the_host_would_refuse_is_not_sent(
    pair: tuple[socket.socket, socket.socket], size_bytes: int
) -> None:
    with pytest.raises(BadFrame):
        FrameWriter(pair[0]).send_nowait(bytes(size_bytes))
    assert Peer(pair[1]).frames() == []
