"""The launcher against fake browsers that misbehave, and against a real one."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
import trio

from cdp.connection import open_connection
from cdp.errors import ConnectionLost, LaunchFailed
from cdp.finder import find_browser
from cdp.launcher import launch
from cdp.processes import MARK_VARIABLE, members
from tests.cdp.fakes import fake_browser
from tests.shared import case_input

URL = "ws://127.0.0.1:4321/devtools/browser/22222222-2222-4222-8222-222222222222"
WRITE_PORT_FILE = """
port_file = profile / "DevToolsActivePort"
port_file.write_text("4321\\n/devtools/browser/22222222-2222-4222-8222-222222222222")
"""
REAL_FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("stale", json.loads(case_input("C-093-devtools-port-files.json").read_text()))
async def test_c093_an_old_port_file_is_never_used_and_half_of_the_new_one_is_read_again(tmp_path, stale):
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "DevToolsActivePort").write_text(stale)
    browser = fake_browser(
        tmp_path,
        """
        time.sleep(0.1)
        with (profile / "DevToolsActivePort").open("w") as port_file:
            for part in ("4321", "\\n/devtools/browser/22222222-2222", "-4222-8222-222222222222"):
                port_file.write(part)
                port_file.flush()
                time.sleep(0.05)
        time.sleep(60)
        """,
    )
    async with launch(browser, user_data_dir=profile) as launched:
        assert launched.cdp_url == URL
        assert not launched.has_exited
    assert launched.has_exited


async def test_the_end_of_what_a_browser_printed_is_in_the_error_when_it_ends_early(tmp_path):
    """C-090: the text in which Chrome asks for a non-default folder must be seen, and at once."""
    browser = fake_browser(
        tmp_path, "print('DevTools remote debugging requires a non-default data directory')\nsys.exit(3)"
    )
    with trio.fail_after(5), pytest.raises(LaunchFailed, match=r"ended with code 3 .*\n.*non-default data directory"):
        async with launch(browser, user_data_dir=tmp_path / "profile"):
            pass


async def test_a_browser_that_opens_no_port_is_ended_and_named(tmp_path):
    browser = fake_browser(tmp_path, "(profile / 'pid').write_text(str(os.getpid()))\ntime.sleep(60)")
    with pytest.raises(LaunchFailed, match=r"no debugging port within 0\.5 s; it printed nothing"):
        async with launch(browser, user_data_dir=tmp_path / "profile", start_timeout_s=0.5):
            pass
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "profile" / "pid").read_text()), 0)


async def test_a_file_that_cannot_be_started_is_named(tmp_path):
    browser = fake_browser(tmp_path, "")
    browser.path.write_text("#!/no/such/interpreter\n")
    with pytest.raises(LaunchFailed, match="cannot be started: No such file"):
        async with launch(browser, user_data_dir=tmp_path / "profile"):
            pass


async def test_arguments_and_those_of_the_environment_reach_the_browser_in_this_order(tmp_path):
    browser = fake_browser(
        tmp_path, "(profile / 'args').write_text('\\n'.join(args))" + WRITE_PORT_FILE + "time.sleep(60)"
    )
    environ = {**os.environ, "NOTEBOOK_GATEWAY_BROWSER_ARGS": "--first '--second=two words'"}
    async with launch(browser, user_data_dir=tmp_path / "profile", args=["--mine"], environ=environ):
        args = (tmp_path / "profile" / "args").read_text().split("\n")
    assert args == [
        "--remote-debugging-port=0",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--mine",
        "--first",
        "--second=two words",
    ]


async def test_a_browser_that_ignores_sigterm_is_killed(tmp_path):
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" + WRITE_PORT_FILE + "time.sleep(60)"
    with trio.fail_after(5):
        async with launch(
            fake_browser(tmp_path, body), user_data_dir=tmp_path / "profile", shutdown_timeout_s=0.2
        ) as launched:
            pass
    assert launched.process.returncode == -signal.SIGKILL


async def test_children_are_ended_too_even_one_with_a_session_of_its_own(tmp_path):
    """Chromium's crash handlers leave the session by a double fork; the environment still marks them."""
    body = (
        """
sleep = [sys.executable, "-ISc", "import time; time.sleep(60)"]
children = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
(profile / "children").write_text(" ".join(str(child.pid) for child in children))
"""
        + WRITE_PORT_FILE
        + "time.sleep(60)"
    )
    async with launch(fake_browser(tmp_path, body), user_data_dir=tmp_path / "profile") as launched:
        mark = _mark_of(launched.pid)
        children = {int(pid) for pid in (tmp_path / "profile" / "children").read_text().split()}
        assert children | {launched.pid} == set(members(launched.pid, mark))
    assert members(launched.pid, mark) == []


async def test_cancelling_the_start_ends_what_was_started(tmp_path):
    browser = fake_browser(tmp_path, "(profile / 'pid').write_text(str(os.getpid()))\ntime.sleep(60)")
    pid_file = tmp_path / "profile" / "pid"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_launch_for_ever, browser, tmp_path / "profile")
        while not (pid_file.exists() and pid_file.read_text()):  # noqa: ASYNC110  # another process writes it
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


async def _launch_for_ever(browser, profile) -> None:
    async with launch(browser, user_data_dir=profile):
        await trio.sleep_forever()


def test_c009_a_talkative_browser_neither_writes_to_our_stdout_nor_reads_our_stdin(tmp_path):
    """As a subprocess, because the descriptors are the point: 10 KiB printed, and input that must not be eaten."""
    browser = fake_browser(
        tmp_path,
        """
        print("x" * 10240, flush=True)
        (profile / "stdin").write_text(repr(sys.stdin.read()))
        inherited = [fd for fd in os.listdir("/dev/fd") if int(fd) > 2 and os.path.exists(f"/dev/fd/{fd}")]
        (profile / "descriptors").write_text(repr(inherited))
        """
        + WRITE_PORT_FILE.replace("\n", "\n        ")
        + "time.sleep(60)\n",
    )
    ours = f"""
        import sys, trio
        from pathlib import Path
        from cdp.finder import Browser
        from cdp.launcher import launch
        async def main():
            async with launch(Browser(Path({str(browser.path)!r}), "fake"), user_data_dir=Path({str(tmp_path)!r}, "p")):
                print(sys.stdin.readline().strip())
        trio.run(main)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ours)], input="request\n", capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "request\n", "")
    assert (tmp_path / "p" / "stdin").read_text() == "''"
    assert (tmp_path / "p" / "descriptors").read_text() == "[]"


@pytest.mark.browser
async def test_a_real_browser_answers_and_leaves_nothing_behind(tmp_path):
    async with launch(find_browser(), user_data_dir=tmp_path / "p", args=REAL_FLAGS) as launched:
        mark = _mark_of(launched.pid)
        async with open_connection(launched.cdp_url) as connection:
            version = await connection.call("Browser.getVersion")
            assert "Chrome/" in str(version["product"])
            assert len(members(launched.pid, mark)) > 3
    assert members(launched.pid, mark) == []


@pytest.mark.browser
async def test_a_crash_of_a_real_browser_fails_the_pending_call_with_a_reason(tmp_path):
    async with launch(find_browser(), user_data_dir=tmp_path / "p", args=REAL_FLAGS) as launched:
        async with open_connection(launched.cdp_url) as connection:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_expect_loss, connection)
                os.kill(launched.pid, signal.SIGKILL)
            assert connection.pending_count == 0
        await launched.process.wait()
        assert launched.has_exited


async def _expect_loss(connection) -> None:
    with trio.fail_after(10), pytest.raises(ConnectionLost, match="closed"):
        while True:
            await connection.call("Browser.getVersion")


def _mark_of(pid: int) -> str:
    with open(f"/proc/{pid}/environ", "rb") as environ:
        entries = environ.read().split(b"\0")
    return next(e for e in entries if e.startswith(MARK_VARIABLE.encode())).split(b"=")[1].decode()
