import os
import socket

import pytest
import trio

from broker.stdio_wire import StdioWire, WireClosed


async def test_c034_no_descriptor_is_switched_to_non_blocking():
    read_fd, write_fd = os.pipe()
    wire = StdioWire(read_fd, write_fd)
    await wire.send_line(b"x")
    assert await wire.receive_some() == b"x\n"
    assert os.get_blocking(read_fd)
    assert os.get_blocking(write_fd)
    os.close(read_fd)
    os.close(write_fd)


async def test_lines_of_two_senders_never_mix_though_the_pipe_is_small():
    read_fd, write_fd = os.pipe()
    wire = StdioWire(read_fd, write_fd)
    lines = [b"a" * 300_000, b"b" * 300_000]
    received = bytearray()
    async with trio.open_nursery() as nursery:
        for line in lines:
            nursery.start_soon(wire.send_line, line)
        while len(received) < 600_002:
            received += await wire.receive_some()
    assert sorted(bytes(received).split(b"\n")[:2]) == lines
    os.close(read_fd)
    os.close(write_fd)


async def test_socket_pairs_work_as_node_gives_them():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = StdioWire(ours.fileno(), ours.fileno())
        peer = trio.SocketStream(trio.socket.from_stdlib_socket(theirs.dup()))
        received = bytearray()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wire.send_line, b"y" * 1_000_000)
            while len(received) < 1_000_001:
                received += await peer.receive_some()
        await peer.send_all(b"ping")
        assert await wire.receive_some() == b"ping"
        await peer.aclose()
        theirs.close()
        assert await wire.receive_some() == b""
        wire.close()


async def test_regular_files_and_the_null_device_work(tmp_path):
    (tmp_path / "in").write_bytes(b"line\n")
    read_fd = os.open(tmp_path / "in", os.O_RDONLY)
    write_fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    wire = StdioWire(read_fd, write_fd)
    assert await wire.receive_some() == b"line\n"
    assert await wire.receive_some() == b""
    await wire.send_line(b"answer")
    assert (tmp_path / "out").read_bytes() == b"answer\n"
    os.close(read_fd)
    os.close(write_fd)
    null = os.open(os.devnull, os.O_RDWR)
    assert await StdioWire(null, null).receive_some() == b""
    os.close(null)


async def test_a_client_that_closed_our_output_is_noticed():
    read_fd, write_fd = os.pipe()
    wire = StdioWire(read_fd, write_fd)
    os.close(read_fd)
    with pytest.raises(WireClosed):
        await wire.send_line(b"x")
    os.close(write_fd)


async def test_after_a_line_was_cut_by_cancellation_nothing_more_is_written():
    """protocol.md's rule for frames holds for lines too: whole, or the connection is over."""
    read_fd, write_fd = os.pipe()
    wire = StdioWire(read_fd, write_fd)
    with trio.move_on_after(0.05):
        await wire.send_line(b"z" * 1_000_000)
    with pytest.raises(WireClosed):
        await wire.send_line(b"next")
    assert "closed" in repr(wire)
    os.close(read_fd)
    os.close(write_fd)
