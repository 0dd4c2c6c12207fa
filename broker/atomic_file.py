"""Replace a small file in one step: readers see the old bytes or the new ones, and a crash leaves one of both."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `path` by a file that only this user can read. Its folder must exist.

    The new file is created under a fresh name with O_EXCL, so a link planted in its place is never followed; renaming
    replaces a link instead of writing through it.

    Raises:
        OSError: as the system says; `path` is as it was before.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
