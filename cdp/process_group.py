"""Processes of one session: who is left, and end them all. For the launcher, which starts a browser in its own session.

A browser is a tree: zygotes, renderers, a crash handler, native messaging hosts. Whoever ends only its first process
leaves the others behind. All of them stay in the session that the launcher made, so that is what is ended.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

POLL_S: Final = 0.01
REAP_TIMEOUT_S: Final = 2.0


def session_members(session: int) -> list[int]:
    """Return the process ids whose session is `session`, zombies included. Linux; elsewhere an empty list."""
    if not sys.platform.startswith("linux"):
        return []
    members: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _session_of(entry) == session:
            members.append(int(entry))
    return members


async def end_session(session: int) -> None:
    """Kill what is left of a session and wait, up to two seconds, until nothing is.

    `session` is the process id of a session leader that we started and reaped. Orphans of it that were handed to us
    (we are a child subreaper, or process 1 in a container) are reaped here; others are reaped by the system.
    """
    with trio.move_on_after(REAP_TIMEOUT_S):
        while True:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(session, signal.SIGKILL)
            members = session_members(session)
            if not members:
                return
            for pid in members:
                _kill_and_reap_nowait(pid)
            await trio.sleep(POLL_S)


def _kill_and_reap_nowait(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _session_of(pid: str) -> int | None:
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
        # pid (comm) state ppid pgrp session …; comm can hold anything, so count from its last parenthesis.
        return int(stat[stat.rindex(")") + 2 :].split()[3])
    except (OSError, ValueError, IndexError):
        return None  # ended while we looked
