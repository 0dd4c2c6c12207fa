"""Start a browser with a debugging port, a debugging pipe or both, and end everything it started.

The browser runs in its own session, so that a Ctrl-C in our terminal does not reach it before our own cleanup does, and
so that its children can be told from everybody else's. It gets /dev/null as standard input and a log file as standard
output and error: what it prints never reaches ours, which may be a protocol (case C-009).
"""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from cdp.errors import LaunchFailed
from cdp.finder import Browser
from cdp.pipe import PipeEnds, PipeTransport, open_pipe_ends
from cdp.port_file import FILE_NAME, maybe_cdp_url
from cdp.processes import MARK_VARIABLE, end_members
from cdp.profile_lock import clear_dead_lock

BROWSER_ARGS_VARIABLE: Final = "NOTEBOOK_GATEWAY_BROWSER_ARGS"
START_TIMEOUT_S: Final = 20.0
SHUTDOWN_TIMEOUT_S: Final = 3.0
KILL_TIMEOUT_S: Final = 2.0
POLL_S: Final = 0.005
LOG_NAME: Final = "browser-output.log"
_SHOWN_LOG_BYTES: Final = 2000


@attrs.frozen
class Launched:
    """A running browser. `pid` is also the id of its process group and session."""

    pid: int
    maybe_cdp_url: str | None
    user_data_dir: Path
    process: trio.Process
    pipe: PipeTransport | None = None

    @property
    def cdp_url(self) -> str:
        """The debugging port's address: ``ws://…`` of one that the browser chose, ``http://127.0.0.1:N`` of a given.

        Raises:
            LookupError: it was launched without a port.
        """
        if self.maybe_cdp_url is None:
            raise LookupError("this browser was launched without a debugging port")
        return self.maybe_cdp_url

    @property
    def has_exited(self) -> bool:
        """Whether the browser has ended (by itself, or by a crash)."""
        return self.process.poll() is not None


@asynccontextmanager
async def launch(
    browser: Browser,
    *,
    user_data_dir: Path,
    args: Sequence[str] = (),
    debug_port: int | None = 0,
    pipe: bool = False,
    environ: Mapping[str, str] = os.environ,
    start_timeout_s: float = START_TIMEOUT_S,
    shutdown_timeout_s: float = SHUTDOWN_TIMEOUT_S,
) -> AsyncGenerator[Launched]:
    """Start `browser` on `user_data_dir`, wait until its debugging port listens, and end it with the block.

    `debug_port` is 0 for one of the browser's choice, a free port, or None for no port: nobody else can reach the
    browser then. With `pipe` there is a debugging pipe, and the browser ends when we do, however we end. The end is
    the end of the pipe or SIGTERM, then `shutdown_timeout_s` for the browser to write its profile, then SIGKILL for
    whatever is left. Arguments in $NOTEBOOK_GATEWAY_BROWSER_ARGS of `environ` are appended.

    Raises:
        LaunchFailed: the profile is open, the browser ended, or it opened no port within `start_timeout_s`. The message
            holds what it printed last.
    """
    port_file = _prepare(user_data_dir)
    port = [] if debug_port is None else [f"--remote-debugging-port={debug_port}"]
    command = [
        str(browser.path),
        *port,
        f"--user-data-dir={user_data_dir}",
        *args,
        *shlex.split(environ.get(BROWSER_ARGS_VARIABLE, "")),
    ]
    mark = secrets.token_hex(8)
    log = user_data_dir / LOG_NAME
    ends = open_pipe_ends() if pipe else None
    if ends is not None:
        command = ends.command([command[0], "--remote-debugging-pipe", *command[1:]])
    try:
        process = await _start(command, ends, log, {**environ, MARK_VARIABLE: mark})
        transport = None if ends is None else ends.transport
        try:
            cdp_url = None
            if debug_port is not None:
                look = partial(_listening, debug_port) if debug_port else partial(_written, port_file)
                cdp_url = await _wait_for_port(process, look, log, start_timeout_s)
            yield Launched(process.pid, cdp_url, user_data_dir, process, transport)
        finally:
            await _end(process, transport, mark, shutdown_timeout_s)
    finally:
        if ends is not None:
            await ends.transport.aclose()


async def _start(command: list[str], ends: PipeEnds | None, log: Path, environ: dict[str, str]) -> trio.Process:
    with _output_file(log) as output:
        try:
            return await trio.lowlevel.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=() if ends is None else (ends.browser_reads, ends.browser_writes),
                env=environ,
            )
        except OSError as error:
            raise LaunchFailed(f"{command[0]} cannot be started: {error.strerror}") from None
        finally:
            if ends is not None:
                ends.close_browser_ends()


async def _wait_for_port(
    process: trio.Process, look: Callable[[], Awaitable[str | None]], log: Path, timeout_s: float
) -> str:
    with trio.move_on_after(timeout_s):
        while True:
            cdp_url = await look()
            if cdp_url is not None:
                return cdp_url
            if process.poll() is not None:
                raise LaunchFailed(
                    f"the browser ended with code {process.returncode} before its debugging port was open{_said(log)}"
                )
            await trio.sleep(POLL_S)
    raise LaunchFailed(f"the browser opened no debugging port within {timeout_s:g} s{_said(log)}")


async def _end(process: trio.Process, transport: PipeTransport | None, mark: str, shutdown_timeout_s: float) -> None:
    with trio.CancelScope(shield=True):  # each wait in here has a deadline of its own
        if shutdown_timeout_s > 0:
            if transport is None:
                process.terminate()
            else:
                await transport.aclose()
            with trio.move_on_after(shutdown_timeout_s):
                await process.wait()
        if process.poll() is None:
            process.kill()
            with trio.move_on_after(KILL_TIMEOUT_S):
                await process.wait()
        await end_members(process.pid, mark)


def _prepare(user_data_dir: Path) -> Path:
    """Make the folder, and remove what the last run left: a port that is dead or somebody else's (case C-093), a lock.

    Raises: LaunchFailed when the profile is open already.
    """
    user_data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    problem = clear_dead_lock(user_data_dir)
    if problem is not None:
        raise LaunchFailed(problem)
    port_file = user_data_dir / FILE_NAME
    port_file.unlink(missing_ok=True)
    return port_file


async def _written(port_file: Path) -> str | None:
    """Return where a browser that chose its port says it listens."""
    await trio.lowlevel.checkpoint()
    return _read_port_file(port_file)


def _read_port_file(port_file: Path) -> str | None:
    with suppress(FileNotFoundError):
        return maybe_cdp_url(port_file.read_text(encoding="utf-8", errors="replace"))
    return None


async def _listening(port: int) -> str | None:
    """Return the address of a given port once something listens there; such a browser writes no file (measured)."""
    with suppress(OSError):
        await trio.aclose_forcefully(await trio.open_tcp_stream("127.0.0.1", port))
        return f"http://127.0.0.1:{port}"
    return None


@contextmanager
def _output_file(path: Path) -> Generator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _said(log: Path) -> str:
    try:
        text = log.read_bytes()[-_SHOWN_LOG_BYTES:].decode("utf-8", "replace").strip()
    except OSError:
        text = ""
    return f"; it printed:\n{text}" if text else "; it printed nothing"
