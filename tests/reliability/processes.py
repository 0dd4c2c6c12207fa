"""Which processes of ours there are and what they hold, from /proc. Linux only, as the long runs are."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from native_host.paths import companion_pid, companion_sockets


@attrs.frozen
class Size:
    """What one process holds."""

    memory_kib: int
    descriptors: int
    threads: int


def size_of(pid: int) -> Size:
    """Read what a process holds now. Raises: OSError when it is gone."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return Size(
        memory_kib=int(status["VmRSS"].split()[0]),
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        threads=int(status["Threads"]),
    )


def host_pids(home: Path) -> list[int]:
    """Return the native hosts that have a socket under a home folder."""
    pids = (companion_pid(socket.name) for socket in companion_sockets(home))
    return [pid for pid in pids if pid is not None]


def page_renderers(browser_pid: int) -> list[int]:
    """Return the browser's renderer processes but those of extensions."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # Processes that the zygote forked have blanks where others have zeros.
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").split()
            parents = _ancestors(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_page = b"--type=renderer" in command and b"--extension-process" not in command
        if is_page and browser_pid in parents:
            found.append(int(folder.name))
    return found


def status_fields(pid: int) -> list[str]:
    """Return what follows the name in the process's status: its state, its parent, …"""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def _ancestors(pid: int) -> list[int]:
    parents: list[int] = []
    while pid > 1:
        pid = int(status_fields(pid)[1])
        parents.append(pid)
    return parents
