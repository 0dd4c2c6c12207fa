"""C-032: what may lie where the socket should be. The process id is part of the name, so these tests choose it."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from native_host import listener as listener_module
from native_host.listener import CannotListen, Listener, is_dead, is_running
from native_host.paths import (
    companion_socket,
    companion_sockets,
    ensure_private_folder,
    fallback_run_folder,
    run_folder,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ensure_private_folder(run_folder(tmp_path))
    return companion_socket(tmp_path, 4242)


def leave_dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(os.fsencode(path))
        left.listen()


def connect(path: Path) -> socket.socket:
    broker = socket.socket(socket.AF_UNIX)
    broker.settimeout(5)
    broker.connect(os.fsencode(path))
    return broker


def finished_pid() -> int:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    return process.pid


def test_folder_and_socket_are_closed_to_other_users_and_gone_afterwards(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Listener.bind(tmp_path, 4242) as listener:
            status = listener.path.stat()
            assert stat.S_ISSOCK(status.st_mode)
            assert status.st_mode & 0o777 == 0o600
            assert listener.path.parent.stat().st_mode & 0o777 == 0o700
            assert os.umask(0) == 0, "the process's own mask is back"
        assert os.listdir(run_folder(tmp_path)) == []
    finally:
        os.umask(before)


def test_c032a_a_dead_socket_of_ours_is_no_obstacle(tmp_path: Path, path: Path) -> None:
    leave_dead_socket(path)
    with Listener.bind(tmp_path, 4242), connect(path):
        pass


def test_c032b_a_live_socket_is_refused_and_goes_on_working(tmp_path: Path, path: Path) -> None:
    with Listener.bind(tmp_path, 4242) as first:
        with pytest.raises(CannotListen, match="another instance is running"):
            Listener.bind(tmp_path, 4242)
        probe = first.maybe_accept()
        assert probe is not None
        probe.close()
        with connect(path):
            accepted = first.maybe_accept()
            assert accepted is not None
            accepted.close()


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "folder"])
def test_c032_anything_else_in_the_way_is_refused_and_left_alone(kind: str, tmp_path: Path, path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    else:
        if kind == "link":
            elsewhere.write_text("mine")
        path.symlink_to(elsewhere)
    before = path.lstat()
    with pytest.raises(CannotListen, match="is in the way and is not a socket; it was left alone"):
        Listener.bind(tmp_path, 4242)
    assert path.lstat().st_ino == before.st_ino
    assert elsewhere.exists() is (kind == "link")


def test_c032_a_link_to_a_dead_socket_is_not_followed(tmp_path: Path, path: Path) -> None:
    elsewhere = tmp_path / "other.sock"
    leave_dead_socket(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(CannotListen):
        Listener.bind(tmp_path, 4242)
    assert path.is_symlink()
    assert elsewhere.exists()


def test_a_socket_of_another_user_is_left_alone(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_dead_socket(path)
    real = os.geteuid()
    monkeypatch.setattr(listener_module, "ensure_private_folder", str)
    monkeypatch.setattr(listener_module.os, "geteuid", lambda: real + 1)
    with pytest.raises(CannotListen, match=f"belongs to user id {real}"):
        Listener.bind(tmp_path, 4242)
    assert path.exists()


def test_sockets_that_crashed_hosts_left_are_swept_and_nothing_else_is(tmp_path: Path, path: Path) -> None:
    run = path.parent
    dead = companion_socket(tmp_path, finished_pid())
    leave_dead_socket(dead)
    of_a_running_process = companion_socket(tmp_path, os.getppid())
    leave_dead_socket(of_a_running_process)
    (run / "browser.json").write_text("{}")
    file_of_a_dead_process = companion_socket(tmp_path, finished_pid())
    file_of_a_dead_process.write_text("mine")
    accepted_in_another_container = companion_socket(tmp_path, finished_pid())
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(os.fsencode(accepted_in_another_container))
        live.listen()
        with Listener.bind(tmp_path, 4242):
            kept = {
                path.name,
                of_a_running_process.name,
                "browser.json",
                file_of_a_dead_process.name,
                accepted_in_another_container.name,
            }
            assert set(os.listdir(run)) == kept


def test_a_connection_of_another_user_is_closed_at_once(tmp_path: Path, path: Path) -> None:
    with Listener.bind(tmp_path, 4242) as listener:
        listener._allowed_user_id = os.geteuid() + 1  # pyright: ignore[reportPrivateUsage]  # no second user in a test
        with connect(path) as stranger:
            assert listener.maybe_accept() is None
            assert stranger.recv(1) == b""


def test_an_accepted_connection_is_ours_and_does_not_block(tmp_path: Path, path: Path) -> None:
    with Listener.bind(tmp_path, 4242) as listener:
        assert listener.maybe_accept() is None
        with connect(path):
            accepted = listener.maybe_accept()
            assert accepted is not None
            with accepted, pytest.raises(BlockingIOError):
                accepted.recv(1)


def test_a_file_that_replaced_our_socket_is_not_removed_on_exit(tmp_path: Path, path: Path) -> None:
    with Listener.bind(tmp_path, 4242):
        path.unlink()
        path.write_text("somebody else's")
    assert path.read_text() == "somebody else's"


def test_a_socket_that_is_gone_already_is_no_error_on_exit(tmp_path: Path, path: Path) -> None:
    with Listener.bind(tmp_path, 4242) as listener:
        path.unlink()
    listener.close()


def test_c033_the_short_folder_goes_with_the_last_host_that_uses_it(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 120)
    with Listener.bind(home, 4242) as first:
        with Listener.bind(home, 4243) as second:
            assert first.path.parent == second.path.parent == fallback_run_folder(home)
            assert companion_sockets(home) == [second.path, first.path]
        assert companion_sockets(home) == [first.path]
    assert not first.path.parent.exists()


def test_a_path_that_cannot_be_bound_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_path = tmp_path / ("x" * 150)

    def too_long(home: Path, pid: int) -> Path:
        return long_path

    monkeypatch.setattr(listener_module, "companion_socket", too_long)
    with pytest.raises(CannotListen, match=rf"cannot bind {long_path}: AF_UNIX path too long"):
        Listener.bind(tmp_path, 4242)


def test_dead_is_only_what_refuses_a_connection(tmp_path: Path, path: Path) -> None:
    assert not is_dead(tmp_path / "missing")
    leave_dead_socket(path)
    assert is_dead(path)
    with Listener.bind(tmp_path, 4242):
        assert not is_dead(path)


def test_a_process_number_that_no_system_gives_counts_as_running() -> None:
    """Nothing is deleted on an impossible number."""
    assert is_running(2**40)
    assert is_running(os.getpid())
    assert not is_running(finished_pid())
