"""The command line and the process: what Chrome passes, what the log says, and how the host ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from native_host.host import parse_arguments
from native_host.paths import host_log_file
from tests.native_host.fakes import HOST_COMMAND, ORIGIN, FakeChrome, wait_for


@pytest.mark.parametrize(
    ("arguments", "home", "origin", "wants_help"),
    [
        (["--home", "/h", ORIGIN], "/h", ORIGIN, False),
        (["--home", "/h", ORIGIN, "--parent-window=0"], "/h", ORIGIN, False),
        ([ORIGIN, "--parent-window=0", "--some-flag-of-next-year", "more"], None, ORIGIN, False),
        (["--home", "/h"], "/h", None, False),
        (["--home"], None, None, False),
        ([], None, None, False),
        (["--home", "/h", "--help"], "/h", None, True),
        (["-h"], None, None, True),
    ],
)
def test_c042_reading_the_command_line(
    arguments: list[str], home: str | None, origin: str | None, wants_help: bool
) -> None:
    assert parse_arguments(arguments) == (home, origin, wants_help)


@pytest.mark.parametrize("more", [[], ["--parent-window=0"]])
def test_c042_with_our_origin_the_host_runs(more: list[str], tmp_path: Path) -> None:
    with FakeChrome(tmp_path, arguments=["--home", str(tmp_path), ORIGIN, *more]) as chrome:
        chrome.wait_until_listening()
        with chrome.connect() as broker:
            assert broker.hello()["host"]["pid"] == chrome.process.pid
        assert chrome.close_port() == 0


@pytest.mark.parametrize(
    "origin",
    ["chrome-extension://abcdefghijklmnopabcdefghijklmnop/", ORIGIN.rstrip("/"), ORIGIN + "x", "https://example.com/"],
)
def test_c042_another_origin_is_refused_in_the_log_and_gets_no_socket(origin: str, tmp_path: Path) -> None:
    done = subprocess.run([*HOST_COMMAND, "--home", tmp_path, origin], input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert f"refused to relay for {origin}" in host_log_file(tmp_path).read_text()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["-h", ORIGIN], 0)])
def test_c042_a_person_gets_text_on_standard_error_only(arguments: list[str], code: int, tmp_path: Path) -> None:
    command = [*HOST_COMMAND, "--home", tmp_path, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Chrome starts this program" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "env", [{"PATH": "/usr/bin:/bin"}, {}, {"PATH": "/nowhere", "PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"}]
)
def test_c041_nothing_in_the_environment_is_needed_or_believed(env: dict[str, str], tmp_path: Path) -> None:
    with FakeChrome(tmp_path, env=env) as chrome:
        chrome.wait_until_listening()
        assert chrome.close_port() == 0


def test_c041_the_working_folder_may_be_the_hosts_own(tmp_path: Path) -> None:
    """Chrome sets it so; a file there must not pass for a module of the standard library."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    (tmp_path / "socket.py").write_text("raise SystemExit('the wrong socket')")
    with FakeChrome(tmp_path, cwd=tmp_path) as chrome:
        chrome.wait_until_listening()
        assert chrome.close_port() == 0


def test_without_a_home_argument_the_broker_and_the_host_use_the_same_rule(tmp_path: Path) -> None:
    env = {"NOTEBOOK_GATEWAY_HOME": str(tmp_path)}
    with FakeChrome(tmp_path, arguments=[ORIGIN], env=env) as chrome:
        chrome.wait_until_listening()
        chrome.connect().close()


def test_a_home_that_cannot_be_used_is_one_line_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    done = subprocess.run(
        [*HOST_COMMAND, "--home", tmp_path, ORIGIN],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("native host not started: ")
    assert done.stderr.count("\n") == 1


def start_with_known_pid(tmp_path: Path) -> FakeChrome:
    """Start a shell that becomes the host when it reads a line: its process id is known before."""
    script = 'read line; exec "$@"'
    return FakeChrome(tmp_path, command=["/bin/sh", "-c", script, "sh", *HOST_COMMAND])


def test_c032_a_file_in_place_of_the_socket_is_one_line_in_the_log(tmp_path: Path) -> None:
    with start_with_known_pid(tmp_path) as chrome:
        chrome.socket_path.parent.mkdir(mode=0o700)
        chrome.socket_path.write_text("mine")
        chrome.send_bytes(b"\n")
        assert chrome.process.wait(10) == 1
        assert "is not a socket; it was left alone" in chrome.log()
        assert chrome.socket_path.read_text() == "mine"
        assert chrome.receive_raw() is None


def test_c037a_end_of_file_ends_the_host_and_removes_its_socket(tmp_path: Path) -> None:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        with chrome.connect() as broker:
            broker.hello()
            assert chrome.close_port() == 0
            assert broker.receive() is None
        assert not chrome.socket_path.exists()
        assert "ended: Chrome closed the port" in chrome.log()
        assert chrome.stderr() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_c037d_a_signal_ends_the_host_and_removes_its_socket(number: signal.Signals, tmp_path: Path) -> None:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        with chrome.connect() as broker:
            broker.hello()
            chrome.process.send_signal(number)
            assert chrome.process.wait(2) == 0
            assert broker.receive() is None
        assert not chrome.socket_path.exists()
        assert f"ended: signal {int(number)}" in chrome.log()


def test_c037c_a_reader_that_is_gone_ends_the_host_even_if_nothing_is_written(tmp_path: Path) -> None:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        assert chrome.process.stdout is not None
        chrome.process.stdout.close()
        assert chrome.process.wait(2) == 0
        assert not chrome.socket_path.exists()


def test_c037e_a_killed_browser_ends_the_host(tmp_path: Path) -> None:
    """The browser here is a process that starts the host with pipes of its own and is killed then."""
    browser = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import subprocess, sys, time\n"
            "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
            "print(child.pid, flush=True)\n"
            "child.stdout.read()",
            *HOST_COMMAND,
            "--home",
            str(tmp_path),
            ORIGIN,
        ],
        stdout=subprocess.PIPE,
    )
    assert browser.stdout is not None
    with browser.stdout:
        host_pid = int(browser.stdout.readline())
        log = host_log_file(tmp_path)
        wait_for(lambda: log.exists() and "listening on" in log.read_text(), "listening host")
        browser.kill()
        browser.wait()
        wait_for(lambda: "ended: " in log.read_text(), "end of the host", wait_s=2)
    assert not (tmp_path / "run" / f"companion-{host_pid}.sock").exists()


def test_a_killed_host_leaves_a_socket_that_the_next_one_sweeps(tmp_path: Path) -> None:
    with FakeChrome(tmp_path) as killed:
        killed.wait_until_listening()
        killed.process.kill()
        killed.process.wait()
        assert killed.socket_path.exists()
    with FakeChrome(tmp_path) as chrome:
        wait_for(chrome.socket_path.exists, "socket")
        assert not killed.socket_path.exists()
        assert chrome.close_port() == 0


def test_c034_the_host_leaves_no_description_in_non_blocking_mode(tmp_path: Path) -> None:
    """Chrome's ends here are shared with this test, as a terminal would be."""
    stdin_reader, stdin_writer = os.pipe()
    stdout_reader, stdout_writer = os.pipe()
    host = subprocess.Popen([*HOST_COMMAND, "--home", tmp_path, ORIGIN], stdin=stdin_reader, stdout=stdout_writer)
    try:
        log = host_log_file(tmp_path)
        wait_for(lambda: log.exists() and "listening on" in log.read_text(), "listening host")
        assert os.get_blocking(stdin_reader)
        assert os.get_blocking(stdout_writer)
        host.send_signal(signal.SIGTERM)
        assert host.wait(2) == 0
        assert os.get_blocking(stdin_reader)
        assert os.get_blocking(stdout_writer)
    finally:
        host.kill()
        host.wait()
        for descriptor in (stdin_reader, stdin_writer, stdout_reader, stdout_writer):
            os.close(descriptor)
