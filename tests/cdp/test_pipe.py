"""The debugging pipe: messages cut anywhere (case C-092), and a real browser on the other end."""

import os
import signal
import subprocess
import sys
from itertools import pairwise

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from cdp.connection import open_connection, run_connection
from cdp.errors import ConnectionLost
from cdp.finder import find_browser
from cdp.launcher import launch
from cdp.pipe import PipeTransport, open_pipe_ends
from tests.cdp.fakes import fake_browser

MESSAGES = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), max_size=6)
FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def pair() -> tuple[PipeTransport, trio.testing.MemorySendStream, trio.testing.MemoryReceiveStream]:
    """Return a transport and the browser's two ends of it."""
    to_us, from_browser = trio.testing.memory_stream_one_way_pair()
    to_browser, browser_reads = trio.testing.memory_stream_one_way_pair()
    return PipeTransport(to_browser, from_browser), to_us, browser_reads


@given(MESSAGES, st.sets(st.integers(1, 150)))
@settings(max_examples=60)
def test_c092_any_split_of_the_pipe_gives_the_same_messages(messages, cuts):
    stream = b"".join(message.encode() + b"\0" for message in messages)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]

    async def read() -> None:
        transport, to_us, _ = pair()
        got: list[str] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_send_in_pieces, to_us, [stream[a:b] for a, b in pairwise(bounds)])
            for _ in messages:
                got.append((await transport.receive()).decode())
        assert got == messages
        with pytest.raises(ConnectionLost):
            await transport.receive()

    trio.run(read)


async def _send_in_pieces(stream: trio.testing.MemorySendStream, pieces: list[bytes]) -> None:
    for piece in pieces:
        if piece:
            await stream.send_all(piece)
            await trio.testing.wait_all_tasks_blocked()
    await stream.aclose()


async def test_a_message_goes_out_with_its_final_zero():
    transport, _, browser_reads = pair()
    await transport.send('{"id":1}')
    assert await browser_reads.receive_some() == b'{"id":1}\0'


async def test_a_browser_that_is_gone_is_a_lost_connection_both_ways():
    transport, to_us, browser_reads = pair()
    await to_us.aclose()
    browser_reads.close()
    with pytest.raises(ConnectionLost, match="closed its debugging pipe"):
        await transport.receive()
    with pytest.raises(ConnectionLost, match="closed its debugging pipe"):
        await transport.send("{}")
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
