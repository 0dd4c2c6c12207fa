"""Is the broker that holds a row still alive? Answered by the kernel, not by a clock (ADR-041).

Each broker holds `flock` on a file of its own for as long as it lives; the kernel lets go at the very moment the
process ends, also by `kill -9`. A broker that is merely stopped keeps its lock, so nobody takes a write over from one
that could wake up and send it. Blocking, but never waiting.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

from native_host.paths import ensure_private_folder


class ProcessLock:
    """This process's own lock. `owner` names it in the journal, and is never used again."""

    def __init__(self, folder: Path) -> None:
        """Take a new lock in `folder`, which is made if need be.

        Raises:
            OSError: the folder or the file cannot be made.
        """
        ensure_private_folder(folder)
        self.owner = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._path = _lock_path(folder, self.owner)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __repr__(self) -> str:
        return f"<ProcessLock {self.owner}>"

    def close(self) -> None:
        """Let go; safe to call twice."""
        if self._descriptor >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1


def is_alive(folder: Path, owner: str) -> bool:
    """Tell whether the process that took the name `owner` still runs. The file of a dead one is removed."""
    path = _lock_path(folder, owner)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def broker_pids(folder: Path) -> list[int]:
    """Return the processes that hold a lock: the brokers that have opened the journal."""
    owners = [path.name.removeprefix("broker-").removesuffix(".lock") for path in folder.glob("broker-*.lock")]
    return sorted({int(owner.partition("-")[0]) for owner in owners if is_alive(folder, owner)})


def _lock_path(folder: Path, owner: str) -> Path:
    return folder / f"broker-{owner}.lock"
