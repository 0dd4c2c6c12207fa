"""Every folder and file of ours, answered in one place for all programs.

All of it lives under one home folder. The home directory comes from the password database: MCP clients pass HOME but no
XDG variables, Chrome passes others, so anything derived from the environment would split host and broker. Standard
library only; computes names and looks, but creates only what is asked of `ensure_private_folder`.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

HOME_VARIABLE: Final = "NOTEBOOK_GATEWAY_HOME"

MAX_SOCKET_PATH_BYTES: Final = 103 if sys.platform == "darwin" else 107
"""``sun_path`` holds 104 bytes on macOS and 108 on Linux, one of them the final zero."""


class UnsafePath(OSError):
    """A folder or file of ours has the wrong owner, kind or mode; using it could hand the session to others."""


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return our home folder: ``$NOTEBOOK_GATEWAY_HOME``, else ``.notebook-gateway`` in the user's home directory.

    Raises:
        ValueError: the variable holds a relative path, which would name another folder in every working directory.
    """
    chosen = environ.get(HOME_VARIABLE)
    if not chosen:
        return _user_home(environ) / ".notebook-gateway"
    if not os.path.isabs(chosen):
        raise ValueError(f"{HOME_VARIABLE} must be an absolute path, not {chosen!r}; set it to one or unset it")
    return Path(chosen)


def _user_home(environ: Mapping[str, str]) -> Path:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container may run us under a user id that has no entry
        home = environ.get("HOME", "")
        if not os.path.isabs(home):
            raise ValueError(f"user id {os.getuid()} has no home directory; set {HOME_VARIABLE}") from None
        return Path(home)


def config_file(home: Path) -> Path:
    """Return the configuration file: account, limits, roots."""
    return home / "config.toml"


def allowlist_file(home: Path) -> Path:
    """Return the broker's copy of the allowlist."""
    return home / "allowlist.json"


def journal_file(home: Path) -> Path:
    """Return the mutation journal, an SQLite database that all brokers of this home share."""
    return home / "journal.sqlite"


def logs_folder(home: Path) -> Path:
    """Return the folder of all log files."""
    return home / "logs"


def host_log_file(home: Path) -> Path:
    """Return the native host's log file, to which its standard error is pointed."""
    return logs_folder(home) / "native_host.log"


def launcher_file(home: Path) -> Path:
    """Return the script that Chrome starts."""
    return home / "native-host"


def run_folder(home: Path) -> Path:
    """Return the folder of sockets and of facts about running processes."""
    return home / "run"


def requests_file(home: Path, account_digest: str) -> Path:
    """How many requests all brokers sent for one account; see `broker.request_budget`."""
    return run_folder(home) / f"requests-{account_digest}.json"


def requests_files(home: Path) -> list[Path]:
    """Return the files of all accounts."""
    return sorted(run_folder(home).glob("requests-*.json"))


def browser_file(home: Path) -> Path:
    """Return the file ``{"pid", "cdp_url"}`` that whoever owns a browser writes."""
    return run_folder(home) / "browser.json"


def profile_folder(home: Path) -> Path:
    """Return the managed browser's profile."""
    return home / "profile"


def sign_in_file(home: Path) -> Path:
    """Return where a sign-in window says which process and port it is, while it is open."""
    return run_folder(home) / "sign-in.json"


def keeper_lock_file(home: Path) -> Path:
    """Return the file that the browser keeper holds locked while it lives."""
    return run_folder(home) / "keeper.lock"


def companion_socket(home: Path, pid: int) -> Path:
    """Return the socket on which the native host `pid` listens.

    A path that does not fit into ``sun_path`` is never cut: the socket then lives in a short folder that differs per
    user and per home folder and that both sides compute alike.
    """
    return _socket(home, _socket_name(pid))


def keeper_socket(home: Path) -> Path:
    """Return the socket on which the browser keeper takes requests; a long path is treated as a companion's is."""
    return _socket(home, "keeper.sock")


def companion_sockets(home: Path) -> list[Path]:
    """Return the sockets that a broker should try, newest first. Those of dead hosts are among them.

    Folders that other users could have written to and sockets of other users are passed over.
    """
    found: list[tuple[int, Path]] = []
    for folder in (run_folder(home), fallback_run_folder(home)):
        if not is_private_folder(folder):
            continue
        for entry in os.scandir(folder):
            if companion_pid(entry.name) is None:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # its host ended just now
                continue
            if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid():
                found.append((status.st_mtime_ns, folder / entry.name))
    return [path for _, path in sorted(found, reverse=True)]


def companion_pid(name: str) -> int | None:
    """Return the process id in a socket's file name, or None if it is not the name of a companion socket."""
    pid = name.removeprefix("companion-").removesuffix(".sock")
    return int(pid) if pid.isascii() and pid.isdigit() and name == f"companion-{pid}.sock" else None


def fallback_run_folder(home: Path) -> Path:
    """Return the short folder for sockets whose natural path is too long.

    ``/tmp`` and not ``$TMPDIR``: Chrome and an MCP client need not agree on the variable.
    """
    import hashlib  # only here: loading OpenSSL would cost the host a fifth of its start

    digest = hashlib.sha256(os.fsencode(os.path.realpath(home))).hexdigest()[:16]
    return Path("/tmp") / f"notebook-gateway-{os.geteuid()}-{digest}"  # noqa: S108  # checked by is_private_folder


def is_private_folder(folder: Path) -> bool:
    """Return whether `folder` is a real folder, ours, and closed to everybody else."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return _problem(status) is None


def ensure_private_folder(folder: Path) -> None:
    """Create `folder` (0700) and its parents, or close an own one that is open to others.

    Raises:
        UnsafePath: it is a link or a file, or belongs to another user.
        OSError: it cannot be created.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            folder.chmod(0o700)
    problem = _problem(folder.lstat())
    if problem is not None:
        raise UnsafePath(f"{folder} {problem}; remove it or choose another folder with {HOME_VARIABLE}")


def _problem(status: os.stat_result) -> str | None:
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if status.st_uid != os.geteuid():
        return f"belongs to user id {status.st_uid}, not to {os.geteuid()}"
    if stat.S_IMODE(status.st_mode) & 0o077:
        return f"is open to others (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _socket(home: Path, name: str) -> Path:
    natural = run_folder(home) / name
    if len(os.fsencode(natural)) <= MAX_SOCKET_PATH_BYTES:
        return natural
    return fallback_run_folder(home) / name


def _socket_name(pid: int) -> str:
    return f"companion-{pid}.sock"
