"""Locks in a profile's folder, made as Chrome and its crashes leave them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cdp.errors import LaunchFailed
from cdp.finder import find_browser
from cdp.launcher import launch
from cdp.profile_lock import FILES, LOCK, Owner, clear_dead_lock, read_profile_lock
from tests.cdp.fakes import fake_browser

DEAD_PID = 2**22 + 1
"""Above the largest process id that Linux gives by itself."""
HOST = socket.gethostname()


def lock(profile: Path, target: str) -> None:
    (profile / LOCK).symlink_to(target)
    for name in FILES[1:]:
        (profile / name).symlink_to("anything")


def left(profile: Path) -> list[str]:
    return [name for name in FILES if os.path.lexists(profile / name)]


def test_c094_a_profile_without_a_lock_is_free(tmp_path: Path) -> None:
    assert clear_dead_lock(tmp_path) is None


def test_c094_the_lock_of_a_dead_process_is_cleared_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    lock(tmp_path, f"{HOST}-{DEAD_PID}")
    assert clear_dead_lock(tmp_path) is None
    assert left(tmp_path) == []


def test_c094_a_process_that_has_ended_and_was_not_waited_for_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as ended:
        assert ended.stdout is not None
        assert ended.stdout.read() == b""  # it has closed everything, and is a zombie at the latest soon
        lock(tmp_path, f"{HOST}-{ended.pid}")
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert read_profile_lock(tmp_path).owner is Owner.DEAD


def test_c094_a_living_program_that_is_no_browser_is_not_touched(tmp_path: Path) -> None:
    lock(tmp_path, f"{HOST}-{os.getpid()}")
    problem = clear_dead_lock(tmp_path)
    assert problem is not None
    assert "another program" in problem
    assert "delete that file" in problem
    assert left(tmp_path) == list(FILES)


def test_c094_a_number_that_was_given_anew_is_proven_by_the_age_of_its_process(tmp_path: Path) -> None:
    lock(tmp_path, f"{HOST}-{os.getpid()}")
    os.utime(tmp_path / LOCK, (1, 1), follow_symlinks=False)
    assert clear_dead_lock(tmp_path) is None
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("target", "said"),
    [("another-machine-1", "another machine"), ("nonsense", "no link as Chrome makes it"), (f"{HOST}-x1", "no link")],
)
def test_c094_what_is_not_proven_ours_is_not_touched(tmp_path: Path, target: str, said: str) -> None:
    lock(tmp_path, target)
    assert said in (clear_dead_lock(tmp_path) or "")
    assert left(tmp_path) == list(FILES)


def test_c094_a_plain_file_in_the_place_of_the_link_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("?")
    assert "no link" in (clear_dead_lock(tmp_path) or "")
    assert left(tmp_path) == [LOCK]


async def test_c094_the_launcher_starts_nothing_on_a_profile_of_somebody_else(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    lock(profile, "another-machine-1")
    started = tmp_path / "started"
    browser = fake_browser(tmp_path, f"open({str(started)!r}, 'w')")
    with pytest.raises(LaunchFailed, match="another machine"):
        async with launch(browser, user_data_dir=profile):
            pass
    assert not started.exists()


@pytest.mark.browser
async def test_c094_a_second_launch_on_an_open_profile_says_so_and_the_first_goes_on(tmp_path: Path) -> None:
    flags = ["--headless=new", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with launch(find_browser(), user_data_dir=tmp_path, args=flags, shutdown_timeout_s=0) as first:
        assert read_profile_lock(tmp_path).owner is Owner.BROWSER
        with pytest.raises(LaunchFailed, match="is open in a browser"):
            async with launch(find_browser(), user_data_dir=tmp_path, args=flags):
                pass
        assert not first.has_exited
    # Killed, it leaves its lock; the next start clears that away.
    async with launch(find_browser(), user_data_dir=tmp_path, args=flags, shutdown_timeout_s=0) as again:
        assert read_profile_lock(tmp_path).text == str(again.pid)
