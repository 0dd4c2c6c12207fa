"""The processes of one launch: who is left, and end them all.

A browser is a tree: zygotes, renderers, crash handlers, native messaging hosts. Whoever ends only its first process
leaves the others behind. Most of them stay in the session that the launcher made. Chromium's crash handlers do not
(they are made by a double fork with a session of their own), but like all the others they inherit the environment, so
a variable with a random value marks every process of one launch.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

MARK_VARIABLE: Final = "NOTEBOOK_GATEWAY_LAUNCH"
POLL_S: Final = 0.01
END_TIMEOUT_S: Final = 2.0


def members(session: int, mark: str) -> list[int]:
    """Return the living processes that are in `session` or carry `mark` in their environment.

    Zombies are not among them: they have ended, and process 1 may take a second to reap its own (measured). Reads
    /proc, so it is empty on other systems; there the process group is all that can be ended.
    """
    if not sys.platform.startswith("linux"):
        return []
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [pid for pid in pids if _session_of(pid) == session or wanted in _environment_of(pid)]


async def end_members(session: int, mark: str) -> None:
    """Kill what is left of a launch and wait, up to two seconds, until nothing is.

    `session` is the process id of a session leader that we started and reaped. Orphans that were handed to us (when we
    are process 1 of a container, or a child subreaper) are reaped here; the system reaps the others.
    """
    unreaped: set[int] = set()
    with trio.move_on_after(END_TIMEOUT_S):
        while True:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(session, signal.SIGKILL)
            alive = members(session, mark)
            for pid in alive:
                _kill(pid)
            # One that is ending shows no environment any more, but may still be a child of ours to be reaped.
            unreaped = {pid for pid in unreaped.union(alive) if not _is_reaped_nowait(pid)}
            if not alive and not unreaped:
                return
            await trio.sleep(POLL_S)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _is_reaped_nowait(pid: int) -> bool:
    """Reap a child that has ended. Somebody else's child counts as reaped: it is not ours to wait for."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return True


def _session_of(pid: int) -> int | None:
    try:
        stat = Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace")
        # pid (comm) state ppid pgrp session …; comm can hold anything, so count from its last parenthesis.
        state, _, _, session = stat[stat.rindex(")") + 2 :].split()[:4]
        return None if state in ("Z", "X") else int(session)
    except (OSError, ValueError):
        return None  # ended while we looked


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # ended while we looked, or of another user
