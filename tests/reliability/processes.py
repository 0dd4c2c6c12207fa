"""What our processes hold, from /proc. Linux only, as the long runs are."""

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
