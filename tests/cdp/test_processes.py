"""Who belongs to a launch, and that none of them is left; real processes."""

import os
import subprocess
import sys

import pytest

from cdp.processes import MARK_VARIABLE, end_members, members

SLEEP = [sys.executable, "-ISc", "print(flush=True); import time; time.sleep(60)"]


@pytest.fixture
def started():
    """Start sleepers, wait until each of them runs, and reap whatever the test leaves."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*, mark: str | None = None, new_session: bool = True) -> subprocess.Popen[bytes]:
        environ = {**os.environ, **({} if mark is None else {MARK_VARIABLE: mark})}
        process = subprocess.Popen(SLEEP, env=environ, start_new_session=new_session, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield start
    for process in processes:
        with process:
            process.kill()


def test_members_are_those_of_the_session_and_those_with_the_mark(started):
    leader, marked, stranger = started(), started(mark="m1"), started(mark="m2")
    assert set(members(leader.pid, "m1")) == {leader.pid, marked.pid}
    assert stranger.pid in members(stranger.pid, "none")


def test_one_that_has_ended_is_no_member_even_before_it_is_reaped(started):
    process = started(mark="m3")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert members(process.pid, "m3") == []


async def test_ending_a_launch_leaves_none_of_it_and_nobody_else_is_touched(started):
    leader, marked, stranger = started(), started(mark="m4"), started()
    leader.kill()
    leader.wait()
    await end_members(leader.pid, "m4")
    assert members(leader.pid, "m4") == []
    assert stranger.poll() is None
    # The marked one was a child of ours, so it is reaped as well: no zombie is left.
    with pytest.raises(ProcessLookupError):
        os.kill(marked.pid, 0)


async def test_ending_a_launch_that_has_ended_already_is_done_at_once(started, autojump_clock):
    leader = started()
    leader.kill()
    leader.wait()
    await end_members(leader.pid, "m5")
    assert autojump_clock.current_time() == 0
