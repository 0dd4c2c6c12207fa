"""What an upload sends of an opened file, and the proof that all of it is one version of that file. Blocking."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Protocol

PIECE_BYTES: Final = 512 * 1024
"""How much is held at a time while bytes that the service has already are digested again."""


class FileBytes(Protocol):
    """What an upload needs of an opened file. `read_at` and `changed` block; reading may give less only at the end."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def sha256(self) -> str:
        """Of the content when it was opened, in lower-case hex."""
        ...

    def read_at(self, offset: int, size_bytes: int, /) -> bytes: ...

    def changed(self) -> bool:
        """Whether the file's size or time of change is not any more what it was when it was opened."""
        ...


class FileChanged(Exception):
    """The opened file does not hold any more what it held when it was opened; the text says how that showed."""


class SentContent:
    """Slices of an opened file, with the digest of what was sent up to the last one. Blocking.

    The digest is the proof before the finalisation that no slice holds bytes of another version of the file (C-084).
    After a break the part that the service has is digested again, from the same descriptor.
    """

    # Invariant: _digest is that of the bytes [0, _position).

    def __init__(self, file: FileBytes) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._position = 0

    def slice(self, offset: int, size_bytes: int) -> bytes:
        """Return the slice to send next. Raises: FileChanged."""
        with _translated():
            self._move_to(offset)
            data = self._read(size_bytes)
            self._require_unchanged()  # asked after reading: what was read before a change is what was opened
        return data

    def check_whole(self) -> None:
        """Return if what was sent is the file as it was opened. Raises: FileChanged."""
        with _translated():
            self._move_to(self._file.size_bytes)
            self._require_unchanged()
        if self._digest.hexdigest() != self._file.sha256:
            raise FileChanged("the file was changed while it was uploaded")

    def _require_unchanged(self) -> None:
        if self._file.changed():
            raise FileChanged("the file was changed while it was uploaded")

    def _move_to(self, offset: int) -> None:
        if offset < self._position:
            self._digest, self._position = hashlib.sha256(), 0
        while self._position < offset:
            self._read(min(PIECE_BYTES, offset - self._position))

    def _read(self, size_bytes: int) -> bytes:
        data = self._file.read_at(self._position, size_bytes)
        if len(data) != size_bytes:
            raise FileChanged("the file became shorter while it was uploaded")
        self._digest.update(data)
        self._position += size_bytes
        return data


@contextmanager
def _translated() -> Generator[None]:
    """What a disk that went away says is the file's trouble too."""
    try:
        yield
    except OSError as error:
        raise FileChanged(f"the file can no longer be read ({error.strerror or type(error).__name__})") from error
