"""Alive or dead, as the kernel knows it, with real processes (ADR-041)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.process_lock import ProcessLock, is_alive

HOLDER = """
import subprocess, sys
from pathlib import Path
from broker.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
child = None
if len(sys.argv) > 2:
    # Descriptors are left open on purpose: only the close-on-exec mark keeps the lock out of the child.
    child = subprocess.Popen(["sleep", "600"], close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(lock.owner, child.pid if child else 0, flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path, *, with_child: bool = False) -> Generator[tuple[subprocess.Popen[str], str, int]]:
    """Run a process that holds a lock; yield it, the lock's owner and the pid of its own child (0: none)."""
    arguments = [sys.executable, "-P", "-c", HOLDER, str(folder), *(["child"] if with_child else [])]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = 0
    try:
        assert process.stdout is not None
        owner, child_pid = process.stdout.readline().split()
        child = int(child_pid)
        yield process, owner, child
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate()


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def test_a_running_process_is_alive_and_a_killed_one_is_dead(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, owner, _):
        assert is_alive(tmp_path, owner)
        kill(process)
        assert not is_alive(tmp_path, owner)


def test_a_stopped_process_is_alive(tmp_path: Path) -> None:
    """It could wake up and send what it had prepared."""
    with holder(tmp_path) as (process, owner, _):
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert is_alive(tmp_path, owner)
        kill(process)
        assert not is_alive(tmp_path, owner)


def test_a_child_process_does_not_keep_the_lock_of_its_dead_parent(tmp_path: Path) -> None:
    with holder(tmp_path, with_child=True) as (process, owner, child):
        assert is_alive(tmp_path, owner)
        kill(process)
        os.kill(child, 0)  # the child lives on
        assert not is_alive(tmp_path, owner)


def test_the_file_of_a_dead_process_is_removed_by_whoever_asks(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, owner, _):
        kill(process)
        assert [path.name for path in tmp_path.iterdir()] == [f"broker-{owner}.lock"]
        is_alive(tmp_path, owner)
        assert list(tmp_path.iterdir()) == []


def test_asking_does_not_take_the_lock_away(tmp_path: Path) -> None:
    with holder(tmp_path) as (_, owner, _):
        assert [is_alive(tmp_path, owner) for _ in range(3)] == [True] * 3


def test_an_owner_nobody_has_heard_of_is_dead(tmp_path: Path) -> None:
    assert not is_alive(tmp_path, "1-never")


def test_our_own_lock_counts_for_ourselves_until_it_is_closed(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path)
    assert is_alive(tmp_path, lock.owner)
    lock.close()
    lock.close()
    assert not is_alive(tmp_path, lock.owner)
    assert list(tmp_path.iterdir()) == []


def test_two_locks_of_one_process_are_two_owners(tmp_path: Path) -> None:
    first, second = ProcessLock(tmp_path), ProcessLock(tmp_path)
    assert first.owner != second.owner
    first.close()
    assert is_alive(tmp_path, second.owner)
    second.close()


def test_the_folder_is_made_private(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "run" / f"broker-{lock.owner}.lock").stat().st_mode & 0o777 == 0o600
    lock.close()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path)
    with pytest.raises(OSError, match="is not a folder"):
        ProcessLock(tmp_path / "run")
