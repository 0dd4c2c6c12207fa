"""Chrome's leg over each kind of descriptor: a pipe opened anew, a pipe that cannot be, a socket."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from native_host import chrome_port
from native_host.chrome_port import ChromePort, PortClosed
from native_host.framing import CHROME_HEADER, BadFrame, FrameDecoder
from native_host.outbox import ChromeOutbox
from native_host.protocol import MAX_TO_CHROME_BYTES
from native_host.stdio import ChromeDescriptors

Ends = tuple[ChromeDescriptors, int, int]
"""What the host has, and Chrome's writing and reading descriptor."""


def pipe_ends() -> Ends:
    from_chrome, chrome_writes = os.pipe()
    chrome_reads, to_chrome = os.pipe()
    return ChromeDescriptors(from_chrome, to_chrome), chrome_writes, chrome_reads


def socket_ends() -> Ends:
    ours, chromes = socket.socketpair()
    return ChromeDescriptors(os.dup(ours.fileno()), ours.detach()), os.dup(chromes.fileno()), chromes.detach()


@pytest.fixture(params=["own pipe", "shared pipe", "socket"])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    if request.param == "shared pipe":
        monkeypatch.setattr(chrome_port, "_own_writer", int)
    made = socket_ends() if request.param == "socket" else pipe_ends()
    yield made
    for descriptor in (made[1], made[2]):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def close(port: ChromePort) -> None:
    os.close(port.from_chrome)
    os.close(port.to_chrome)
    if port._socket is not None:  # pyright: ignore[reportPrivateUsage]  # it lives as long as the host
        port._socket.close()  # pyright: ignore[reportPrivateUsage]


def read_in_background(descriptor: int, size_bytes: int) -> tuple[threading.Thread, bytearray]:
    """Read like Chrome, in a thread, because the pipe is smaller than what goes through it."""
    data = bytearray()

    def read() -> None:
        while len(data) < size_bytes:
            data.extend(os.read(descriptor, 1 << 16))

    thread = threading.Thread(target=read)
    thread.start()
    return thread, data


def write_all(port: ChromePort) -> None:
    while port.has_more:
        port.write()


def test_small_and_large_messages_arrive_whole_and_in_order(ends: Ends) -> None:
    outbox = ChromeOutbox()
    port = ChromePort(ends[0], outbox)
    payloads = [b'{"n":%d}' % number for number in range(100)] + [b"x" * 500_000, b"y" * 524_288, b"{}"]
    for payload in payloads:
        outbox.put(1, payload, 0)
    thread, data = read_in_background(ends[2], sum(map(len, payloads)) + 4 * len(payloads))
    write_all(port)
    thread.join()
    decoder = FrameDecoder(CHROME_HEADER, MAX_TO_CHROME_BYTES)
    decoder.feed_untrusted(data)
    assert [decoder.maybe_next_frame() for _ in payloads] == payloads
    close(port)


def test_a_chrome_that_does_not_read_makes_nobody_wait(ends: Ends) -> None:
    outbox = ChromeOutbox()
    port = ChromePort(ends[0], outbox)
    for _ in range(8):
        outbox.put(1, b"x" * 500_000, 0)
    for _ in range(3):
        port.write()
    assert port.has_more
    assert outbox.queued_bytes(1) > 0, "frames are drawn only when the pipe takes them"
    close(port)


def test_a_reader_that_is_gone_is_the_end_of_the_port(ends: Ends) -> None:
    outbox = ChromeOutbox()
    port = ChromePort(ends[0], outbox)
    os.close(ends[1])
    os.close(ends[2])
    outbox.put(1, b"{}", 0)
    with pytest.raises(PortClosed, match="Chrome does not read"):
        write_all(port)
    with pytest.raises(PortClosed):
        port.read()
    close(port)


def test_what_chrome_writes_comes_out_as_frames(ends: Ends) -> None:
    port = ChromePort(ends[0], ChromeOutbox())
    os.write(ends[1], CHROME_HEADER.pack(2) + b"{}" + CHROME_HEADER.pack(3) + b"[")
    port.read()
    assert port.decoder.maybe_next_frame() == b"{}"
    assert port.decoder.maybe_next_frame() is None
    os.write(ends[1], b"1]")
    port.read()
    assert port.decoder.maybe_next_frame() == b"[1]"
    close(port)


def test_a_message_above_chromes_limit_is_never_written(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot happen, as larger ones are cut; if it did, Chrome would close the port without a word."""
    never: Callable[[bytes], bool] = lambda payload: False  # noqa: E731
    monkeypatch.setattr("native_host.outbox.needs_fragments", never)
    outbox = ChromeOutbox()
    port = ChromePort(ends[0], outbox)
    outbox.put(1, b"x" * (MAX_TO_CHROME_BYTES + 1), 0)
    with pytest.raises(BadFrame):
        port.write()
    close(port)


def test_the_descriptor_that_we_inherited_stays_in_blocking_mode() -> None:
    descriptors, chrome_writes, chrome_reads = pipe_ends()
    shared = os.dup(descriptors.to_chrome)
    port = ChromePort(descriptors, ChromeOutbox())
    assert os.get_blocking(shared)
    assert os.get_blocking(port.from_chrome)
    close(port)
    for descriptor in (shared, chrome_writes, chrome_reads):
        os.close(descriptor)
