"""The lock that Chrome puts into a profile's folder, and whether its owner is gone (case C-094).

On Linux and macOS it is a link named ``SingletonLock`` to ``<host name>-<process id>``, beside a socket and a cookie
(https://chromium.googlesource.com/chromium/src/+/HEAD/chrome/browser/process_singleton_posix.cc). Clearing the lock of
a browser that lives would corrupt its profile, so only an owner that is proven dead on this machine is cleared away.
"""

from __future__ import annotations

import os
import socket
from enum import Enum, auto
from pathlib import Path
from typing import Final

import attrs

LOCK: Final = "SingletonLock"
FILES: Final = (LOCK, "SingletonSocket", "SingletonCookie")
BROWSER_WORDS: Final = ("chrom", "msedge", "brave")
"""In the name of every executable that `cdp.finder` knows, and of the binaries that their scripts start."""
CLOCK_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


class Owner(Enum):
    """What is behind a lock."""

    NOBODY = auto()  # there is no lock
    DEAD = auto()
    BROWSER = auto()
    OTHER_PROGRAM = auto()  # the number belongs to another program now, or always did
    OTHER_HOST = auto()
    UNREADABLE = auto()


@attrs.frozen
class ProfileLock:
    """One look at a profile's lock. `text` is where the link leads."""

    owner: Owner
    text: str = ""

    def problem(self, profile: Path) -> str | None:
        """Return why the profile is not to be used now, and what to do; None if it may be."""
        file = profile / LOCK
        match self.owner:
            case Owner.NOBODY | Owner.DEAD:
                return None
            case Owner.BROWSER:
                return f"the profile {profile} is open in a browser (process {self.text}); close that one first"
            case Owner.OTHER_PROGRAM:
                why = f"names process {self.text}, which is another program"
            case Owner.OTHER_HOST:
                why = f"is of another machine ({self.text})"
            case Owner.UNREADABLE:
                why = "is no link as Chrome makes it"
        return f"the lock {file} {why}; if no browser uses this profile, delete that file"


def read_profile_lock(profile: Path, *, host_name: str | None = None, proc: Path = Path("/proc")) -> ProfileLock:
    """Look at the lock of the profile in this folder; nothing is changed."""
    file = profile / LOCK
    try:
        text = os.readlink(file)
    except FileNotFoundError:
        return ProfileLock(Owner.NOBODY)
    except OSError:
        return ProfileLock(Owner.UNREADABLE)
    host, dash, number = text.rpartition("-")
    if not dash or not number.isascii() or not number.isdigit():
        return ProfileLock(Owner.UNREADABLE, text)
    if host != (host_name or socket.gethostname()):
        return ProfileLock(Owner.OTHER_HOST, text)
    return ProfileLock(_owner(int(number), file.lstat().st_mtime, proc), number)


def clear_dead_lock(profile: Path) -> str | None:
    """Remove the lock of an owner that is proven dead, with its socket and cookie; return what forbids to go on.

    Chrome clears such locks away too, but shows a window about some of them, which nobody may see.
    """
    lock = read_profile_lock(profile)
    if lock.owner is Owner.DEAD:
        for name in FILES:
            (profile / name).unlink(missing_ok=True)
    return lock.problem(profile)


def _owner(pid: int, locked_at_s: float, proc: Path) -> Owner:
    if not _lives(pid):
        return Owner.DEAD
    if not proc.exists():  # macOS: whoever lives may be the owner
        return Owner.BROWSER
    try:
        # The name of the program may hold spaces and brackets, so fields are counted behind the last bracket.
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        boot_s = next(
            int(line.split()[1]) for line in (proc / "stat").read_text().splitlines() if line.startswith("btime ")
        )
    except (OSError, StopIteration):
        return Owner.DEAD  # it ended just now
    state, started_s = fields[0], boot_s + int(fields[19]) * CLOCK_TICK_S
    # A zombie holds nothing any more. The number of a process that is younger than the lock was given anew.
    if state == "Z" or started_s > locked_at_s + 2:
        return Owner.DEAD
    try:
        program = os.readlink(proc / str(pid) / "exe")
    except OSError:
        return Owner.OTHER_PROGRAM  # another user's
    is_browser = any(word in Path(program).name.lower() for word in BROWSER_WORDS)
    return Owner.BROWSER if is_browser else Owner.OTHER_PROGRAM


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
