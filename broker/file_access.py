"""Which files of this machine may leave it, and opening one so that nobody can exchange it meanwhile. Blocking.

A path is resolved first, judged by where it really leads, and then opened folder by folder from ``/`` without following
any link. So what is opened has exactly the path that was judged: a link put in its place between the two steps is an
error, not a way out (design, "Files and URLs").
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from broker.errors import GatewayError, InvalidArgument, NotFound
from broker.opened_file import ContentChanged, OpenedFile
from broker.secret_files import FIRST_BYTES, maybe_secret_content, maybe_secret_name, maybe_secret_place
from native_host.paths import config_file, home_folder

if TYPE_CHECKING:
    from broker.config import Config
    from broker.project_file import ProjectFolder

# A folder is only passed through: where the system can, it is not opened for reading.
_FOLDER_FLAGS: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# Opening a pipe must not wait for its writer, nor a terminal become ours.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_SHARED_BY_HAND: Final = (
    "Only the person can share such a file, for example by copying what is meant to an ordinary name under a root."
)


def allowed_roots(project: ProjectFolder, config: Config) -> tuple[Path, ...]:
    """Return the folders whose files may be uploaded: the project folder, if it is one, and the configured ones.

    Raises:
        InvalidArgument: there is none; it says how the person adds one.
    """
    reason = project.why_no_root()
    roots = config.file_roots if reason is not None else (project.path, *config.file_roots)
    if roots:
        return roots
    raise InvalidArgument(
        f"source.file_path: no folder is open for uploads: {reason}, and file_roots is not configured.",
        hint='Ask the person to add the folder, for example file_roots = ["/home/you/papers"], to '
        f"{config_file(home_folder())}, or to start this client in a project folder; then to start a new session.",
        started=False,
    )


def open_file(path: str, *, roots: Sequence[Path], max_bytes: int, own_home: Path | None = None) -> OpenedFile:
    """Open a file that lies under one of `roots`, and digest it. The caller closes it.

    `own_home` is the gateway's own folder, nothing of which ever leaves.

    Raises:
        NotFound: there is no such file under the roots.
        InvalidArgument: the path is not absolute, leads out of the roots or to what is never uploaded, or names no
            readable regular file with at least one and at most `max_bytes` bytes.
    """
    shown = _checked_path(path)
    real = _resolved(path, shown)
    _check_place(real, roots, shown)
    if (secret := maybe_secret_name(PurePosixPath(path).name)) is not None:
        raise _never_uploaded(shown, secret)
    forbidden = _maybe_identity(own_home or home_folder())
    try:
        descriptor = _open_without_links(real, forbidden, shown)
    except OSError as error:
        raise _translated(error, shown) from error
    try:
        status = _check_opened(descriptor, max_bytes, shown)
    except OSError as error:
        os.close(descriptor)
        raise _translated(error, shown) from error
    except BaseException:
        os.close(descriptor)
        raise
    try:
        return OpenedFile(descriptor, PurePosixPath(path).name, status)
    except OSError as error:
        raise _translated(error, shown) from error
    except ContentChanged:
        raise _refused(f"{shown} was written to while it was read", "Call again when the file is complete.") from None


# ---------------------------------------------------------------------------------------------------- the path
def _checked_path(path: str) -> str:
    """Return the path as messages show it, after checking that it is one."""
    shown = repr(path if len(path) <= 300 else f"{path[:299]}…")
    if "\0" in path:
        raise _refused(f"{shown} holds a NUL character", "Pass the path of an existing file.")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise _refused(f"{path[:300]!a} is not text", "Pass the path as plain text.") from None
    if not path.startswith("/"):
        hint = "Pass an absolute path, beginning with /."
        if path.startswith("~"):
            hint = "Pass the absolute path; ~ is not expanded."
        elif path.lower().startswith("file:"):
            hint = "Pass the absolute path alone, without file://."
        raise _refused(f"{shown} is not an absolute path", hint)
    return shown


def _resolved(path: str | Path, shown: str) -> PurePosixPath:
    """Return where `path` leads. What is missing or closed to us on the way shows when it is opened."""
    try:
        real = os.path.realpath(path)
    except OSError:  # a link vanished between two steps of the resolution
        raise _refused(f"{shown} was changed while it was looked at", "Call again when its folder is quiet.") from None
    return PurePosixPath("/" + real.lstrip("/"))  # two leading slashes are kept by the standard library


def _check_place(real: PurePosixPath, roots: Sequence[Path], shown: str) -> None:
    above = [root for root in (_resolved(root, shown) for root in roots) if real.is_relative_to(root)]
    if not above:
        # Not said: where a link leads, and whether there is anything.
        named = ", ".join(map(str, roots[:10]))
        raise _refused(
            f"{shown} is, after links are resolved, in none of the folders open for uploads: {named}",
            "Use a file under one of them, or ask the person to add its folder to file_roots in config.toml and to "
            "start a new session.",
        )
    # The deepest root: a person who named a hidden folder meant it.
    root = max(above, key=lambda each: len(each.parts))
    if real == root:
        raise _refused(f"{shown} is a folder open for uploads, not a file", "Name one file in it.")
    if (secret := maybe_secret_place(real, root)) is not None:
        raise _never_uploaded(shown, secret)


# ---------------------------------------------------------------------------------------------------- the descriptor
def _open_without_links(real: PurePosixPath, forbidden: tuple[int, int] | None, shown: str) -> int:
    folder = os.open("/", _FOLDER_FLAGS)
    try:
        for part in real.parts[1:-1]:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
            # By identity: a second mount or another spelling of our home folder is it too.
            if _identity(os.fstat(folder)) == forbidden:
                raise _never_uploaded(shown, "it belongs to the gateway itself")
        # Before opening, because opening a device can already do something.
        _require_regular(os.stat(real.name, dir_fd=folder, follow_symlinks=False), shown)
        return os.open(real.name, _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def _check_opened(descriptor: int, max_bytes: int, shown: str) -> os.stat_result:
    status = os.fstat(descriptor)
    _require_regular(status, shown)
    if status.st_size == 0:
        raise _refused(f"{shown} is empty", "The service takes no empty file; write the file first.")
    if status.st_size > max_bytes:
        raise _refused(
            f"{shown} has {status.st_size} bytes; at most {max_bytes} are uploaded",
            "Split it or make it smaller. The person can set another limit: max_file_bytes in config.toml.",
        )
    if (secret := maybe_secret_content(os.pread(descriptor, FIRST_BYTES, 0))) is not None:
        raise _never_uploaded(shown, secret)
    return status


def _require_regular(status: os.stat_result, shown: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise _refused(f"{shown} is {kind}, not a file", "Name a regular file.")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _maybe_identity(folder: Path) -> tuple[int, int] | None:
    try:
        return _identity(folder.stat())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(
            f"files cannot be told from the gateway's own, because {folder} cannot be looked at ({error.strerror})",
            "Ask the person to make that folder accessible to the user who runs the gateway.",
        ) from error


# ---------------------------------------------------------------------------------------------------- what to say
def _translated(error: OSError, shown: str) -> GatewayError:
    if error.errno == errno.ENOENT:
        return NotFound(
            f"source.file_path: there is no file {shown}.",
            hint="Check the path; name an existing file.",
            started=False,
        )
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _refused(
            f"{shown} leads through something that is no folder, or was replaced by a link while it was opened",
            "Name the file by its own path.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return _refused(f"{shown} cannot be read: permission denied", "Ask the person to make it readable.")
    return _refused(
        f"{shown} cannot be read: {error.strerror or type(error).__name__}", "Check the file and call again."
    )


def _never_uploaded(shown: str, reason: str) -> InvalidArgument:
    return _refused(f"{shown} is never uploaded: {reason}", _SHARED_BY_HAND)


def _refused(problem: str, hint: str) -> InvalidArgument:
    return InvalidArgument(f"source.file_path: {problem}.", hint=hint, started=False)
