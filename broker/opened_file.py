"""A file that is open for upload: what its path named when it was opened, whatever the path names later (C-084)."""

from __future__ import annotations

import hashlib
import io
import os
from typing import Final

PIECE_BYTES: Final = 1024 * 1024
"""How much is held at a time while the content is digested."""


class OpenedFile:
    """Owns a descriptor of a regular file. All methods but `close` block.

    `size_bytes` and `sha256` (lower-case hex) are those of the content when it was opened; `name` is the last part of
    the path that was given.
    """

    def __init__(self, descriptor: int, name: str, status: os.stat_result) -> None:
        """Take the descriptor over, whatever happens. `status` is what the caller checked of it.

        Raises:
            OSError: it cannot be read.
            ContentChanged: it is not any more what `status` says, or was written to while it was digested.
        """
        self._file = io.FileIO(descriptor, "rb")
        try:
            self.name = name
            self.size_bytes = status.st_size
            # Renaming or deleting changes neither: the descriptor still holds the whole file.
            self._version = (status.st_size, status.st_mtime_ns)
            self.sha256 = self._digest()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        state = "closed" if self._file.closed else "open"
        return f"<OpenedFile {self.size_bytes} bytes, {state}>"

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Return the bytes there; fewer only where the file ends. Raises: OSError; ValueError once closed."""
        pieces: list[bytes] = []
        while size_bytes > 0 and (piece := os.pread(self._file.fileno(), size_bytes, offset)):
            pieces.append(piece)
            offset += len(piece)
            size_bytes -= len(piece)
        return b"".join(pieces)

    def changed(self) -> bool:
        """Return whether size or time of change are not any more what they were. Raises: ValueError once closed."""
        status = os.fstat(self._file.fileno())
        return (status.st_size, status.st_mtime_ns) != self._version

    def close(self) -> None:
        """Give the descriptor back; twice does no harm."""
        self._file.close()

    def _digest(self) -> str:
        digest = hashlib.sha256()
        offset = 0
        while piece := self.read_at(offset, min(PIECE_BYTES, self.size_bytes - offset)):
            digest.update(piece)
            offset += len(piece)
        if offset != self.size_bytes or self.changed():
            raise ContentChanged
        return digest.hexdigest()


class ContentChanged(Exception):
    """Somebody wrote to the file while it was read."""
