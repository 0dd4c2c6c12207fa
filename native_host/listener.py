"""The listening socket: bound where brokers look for it, left-overs removed only on proof, gone when the host ends.

A socket file is dead if nobody accepts on it. Only a dead one that is ours is ever deleted; a live one, a regular file,
a link or a folder in its place is left as it is, and the host says so and does not start.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from native_host.host_log import log
from native_host.paths import companion_pid, companion_socket, ensure_private_folder, run_folder
from native_host.peer import peer_user_id

BACKLOG: Final = 64
BUFFER_BYTES: Final = 1024 * 1024
"""Kernel buffer of a connection, each way: room for a fragment and more, so that both sides seldom wait."""


class CannotListen(OSError):
    """The socket cannot be bound here; the text says why and what to do."""


class Listener:
    """The socket of this host, as a context manager that removes it."""

    def __init__(self, path: Path, *, is_folder_removed: bool, allowed_user_id: int) -> None:
        self.path = path
        self._is_folder_removed = is_folder_removed
        self._allowed_user_id = allowed_user_id
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._identity: tuple[int, int] | None = None

    @classmethod
    def bind(cls, home: Path, pid: int) -> Self:
        """Listen on the socket of `home` for this process.

        Raises:
            CannotListen: something else is in its place, or another process listens there.
            OSError: the folder cannot be used.
        """
        path = companion_socket(home, pid)
        ensure_private_folder(path.parent)
        _sweep(path.parent)
        _make_room(path)
        is_fallback = path.parent != run_folder(home)
        listener = cls(path, is_folder_removed=is_fallback, allowed_user_id=os.geteuid())
        listener._listen()
        return listener

    def _listen(self) -> None:
        before = os.umask(0o177)  # the socket is 0600 from its first moment
        try:
            self._socket.bind(os.fsencode(self.path))
        except OSError as error:
            self._socket.close()
            raise CannotListen(f"cannot bind {self.path}: {error}") from error
        finally:
            os.umask(before)
        status = self.path.lstat()
        self._identity = (status.st_dev, status.st_ino)
        self._socket.listen(BACKLOG)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._socket.fileno()

    def maybe_accept(self) -> socket.socket | None:
        """Return the next broker's connection, or None if there is none or it belongs to another user."""
        try:
            connection, _ = self._socket.accept()
        except OSError as error:  # it left again, or we are out of descriptors
            if not isinstance(error, BlockingIOError):
                log(f"no connection accepted: {error}")
            return None
        if not self._is_ours(connection):
            connection.close()
            return None
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        return connection

    def _is_ours(self, connection: socket.socket) -> bool:
        try:
            uid = peer_user_id(connection)
        except OSError as error:
            log(f"connection refused: its user is unknown ({error})")
            return False
        if uid != self._allowed_user_id:
            log(f"connection refused: user id {uid} is not {self._allowed_user_id}")
        return uid == self._allowed_user_id

    def close(self) -> None:
        """Stop listening and remove the file, unless somebody put another one in its place. Idempotent."""
        self._socket.close()
        try:
            status = self.path.lstat()
            if (status.st_dev, status.st_ino) == self._identity:
                self.path.unlink()
        except FileNotFoundError:
            pass
        self._identity = None
        if self._is_folder_removed:
            self._remove_folder()

    def _remove_folder(self) -> None:
        """Leave nothing in the system's folder for temporary files once the last host of this home is gone."""
        try:
            self.path.parent.rmdir()
        except OSError:  # another host still listens there
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _make_room(path: Path) -> None:
    """Remove a dead socket of ours at `path`.

    Raises:
        CannotListen: there is anything else.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise CannotListen(f"{path} is in the way and is not a socket; it was left alone, move it elsewhere")
    if status.st_uid != os.geteuid():
        raise CannotListen(f"{path} belongs to user id {status.st_uid}; it was left alone")
    if not is_dead(path):
        raise CannotListen(f"another instance is running: something accepts connections on {path}")
    path.unlink()
    log(f"removed the dead socket {path}")


def _sweep(folder: Path) -> None:
    """Remove what crashed hosts left in our own folder: no process of that number, and nobody accepts."""
    for entry in os.scandir(folder):
        pid = companion_pid(entry.name)
        if pid is None or is_running(pid):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid() and is_dead(folder / entry.name):
                os.unlink(entry.path)
                log(f"removed the dead socket {entry.path}")
        except OSError as error:  # another host swept it at the same time
            log(f"left {entry.path} alone: {error}")


def is_dead(path: Path) -> bool:
    """Return True only on proof: the kernel says that no process accepts connections on this socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fsencode(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False


def is_running(pid: int) -> bool:
    """Return whether a process of this number exists, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
