"""The debugging pipe: messages cut anywhere (case C-092), and a real browser on the other end."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import BinaryIO

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from cdp.connection import open_connection, run_connection
from cdp.errors import ConnectionLost
from cdp.finder import find_browser
from cdp.launcher import launch
from cdp.pipe import MessageSplitter, PipeTransport, open_pipe_ends
from tests.cdp.fakes import fake_browser

MESSAGES = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), max_size=6)
FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


@contextmanager
def pair() -> Generator[tuple[PipeTransport, BinaryIO, BinaryIO]]:
    """Yield a transport, what the browser writes to it with, and what it reads from."""
    ends = open_pipe_ends()
    with (
        open(ends.browser_writes, "wb", buffering=0) as browser_writes,
        open(ends.browser_reads, "rb", buffering=0) as browser_reads,
    ):
        yield ends.transport, browser_writes, browser_reads


@given(MESSAGES, st.sets(st.integers(1, 150)))
def test_c092_any_split_of_the_pipe_gives_the_same_messages(messages, cuts):
    stream = b"".join(message.encode() + b"\0" for message in messages)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    splitter = MessageSplitter()
    got = [message for a, b in pairwise(bounds) for message in splitter.feed_untrusted(stream[a:b])]
    assert [message.decode() for message in got] == messages
    assert splitter.feed_untrusted(b"\0") == [b""]


def test_a_message_over_the_limit_ends_the_connection_before_it_is_whole():
    splitter = MessageSplitter(max_message_bytes=10)
    assert splitter.feed_untrusted(b"0123456789\0") == [b"0123456789"]
    splitter.feed_untrusted(b"01234")
    with pytest.raises(ConnectionLost, match="more than 10 bytes"):
        splitter.feed_untrusted(b"567890")


async def test_messages_that_arrived_together_are_read_together():
    with pair() as (transport, browser_writes, _):
        browser_writes.write(b"one\0two\0thr")
        assert await transport.receive() == [b"one", b"two"]
        browser_writes.write(b"ee\0")
        assert await transport.receive() == [b"three"]
        await transport.aclose()


async def test_a_message_goes_out_with_its_final_zero():
    with pair() as (transport, _, browser_reads):
        assert transport.send_nowait(b'{"id":1}')
        await transport.send([b'{"id":2}', b'{"id":3}'])
        assert browser_reads.read(100) == b'{"id":1}\0{"id":2}\0{"id":3}\0'
        await transport.aclose()


async def test_a_full_pipe_takes_nothing_of_a_message_that_must_not_wait():
    """Half a command would make the browser misread everything after it."""
    with pair() as (transport, _, browser_reads):
        sent = 0
        while transport.send_nowait(b"x" * 1000):
            sent += 1
        assert not transport.send_nowait(b"x" * 10_000)
        assert len(browser_reads.read(1 << 21)) == sent * 1001
        await transport.aclose()


async def test_a_browser_that_is_gone_is_a_lost_connection_both_ways():
    with pair() as (transport, browser_writes, browser_reads):
        browser_writes.close()
        browser_reads.close()
        with pytest.raises(ConnectionLost, match="closed its debugging pipe"):
            await transport.receive()
        with pytest.raises(ConnectionLost, match="closed its debugging pipe"):
            await transport.send([b"{}"])
        with pytest.raises(ConnectionLost, match="closed its debugging pipe"):
            transport.send_nowait(b"{}")
        await transport.aclose()
        with pytest.raises(ConnectionLost):
            await transport.receive()


async def test_c092_no_end_of_the_pipe_is_inherited_by_other_children():
    ends = open_pipe_ends()
    try:
        assert not os.get_inheritable(ends.browser_reads)
        assert not os.get_inheritable(ends.browser_writes)
    finally:
        ends.close_browser_ends()
        await ends.transport.aclose()


async def test_the_browser_finds_the_pipe_on_descriptors_3_and_4_and_nothing_else(tmp_path):
    browser = fake_browser(
        tmp_path,
        """
        (profile / "DevToolsActivePort").write_text(
            "4321\\n/devtools/browser/22222222-2222-4222-8222-222222222222")
        fds = sorted(int(fd) for fd in os.listdir("/dev/fd") if os.path.exists(f"/dev/fd/{fd}"))
        os.read(3, 100)
        os.write(4, b'{"id":1,"result":{"fds":%s}}' % repr(fds).encode() + bytes([0]))
        os.read(3, 100)  # end of file when the launcher lets go
        """,
    )
    async with (
        launch(browser, user_data_dir=tmp_path / "p", pipe=True) as launched,
        run_connection(launched.pipe) as connection,
    ):
        with trio.fail_after(10):
            assert await connection.call("Any.thing") == {"fds": [0, 1, 2, 3, 4]}
    assert launched.process.returncode == 0


@pytest.mark.browser
async def test_a_real_browser_serves_pipe_and_port_at_once_and_ends_with_the_pipe(tmp_path):
    async with launch(find_browser(), user_data_dir=tmp_path / "p", args=FLAGS, pipe=True) as launched:
        async with open_connection(launched.cdp_url) as by_port:
            version = await by_port.call("Browser.getVersion")
        async with run_connection(launched.pipe) as by_pipe:
            assert await by_pipe.call("Browser.getVersion") == version
    assert launched.process.returncode == 0


@pytest.mark.browser
def test_a_real_browser_ends_when_its_owner_is_killed(tmp_path):
    """The pipe is a leash: SIGKILL leaves no time for a cleanup of ours."""
    owner = f"""
import sys, trio
from pathlib import Path
from cdp.finder import find_browser
from cdp.launcher import launch

async def main():
    profile = Path({str(tmp_path)!r}, "p")
    async with launch(find_browser(), user_data_dir=profile, args={FLAGS!r}, pipe=True) as launched:
        print(launched.pid, flush=True)
        await trio.sleep_forever()

trio.run(main)
"""
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        pid = int(process.stdout.readline())
        watched = os.pidfd_open(pid)
        process.send_signal(signal.SIGKILL)
    try:
        trio.run(_wait_for_end, watched)
    finally:
        os.close(watched)


async def _wait_for_end(pidfd: int) -> None:
    with trio.fail_after(10):
        await trio.lowlevel.wait_readable(pidfd)
