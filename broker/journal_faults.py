"""What SQLite and the system say when the journal's file cannot be used, in our words.

The only place that knows `sqlite3.Error`: none of them leaves the journal's modules.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from broker.errors import InternalError


class JournalBusy(Exception):
    """Another broker holds the write lock just now; try again."""


class ClaimTaken(Exception):
    """Another write has taken that remote id already."""


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Turn the errors of the block into ours. Their texts name files, tables and codes, never a value.

    Raises:
        JournalBusy: the file is locked.
        InternalError: it cannot be read or written.
    """
    try:
        yield
    except sqlite3.Error as error:
        # Errors of the Python module itself (a closed connection) carry no code.
        code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise JournalBusy from error
        raise unusable(path, f"SQLite says {getattr(error, 'sqlite_errorname', type(error).__name__)}") from error
    except OSError as error:
        raise unusable(path, f"the system says {error.strerror or error}") from error


def unusable(path: Path, why: str) -> InternalError:
    """Return the error for a journal that cannot be used."""
    return InternalError(
        f"The mutation journal {path} cannot be used: {why}. Nothing was written.",
        hint="Set NOTEBOOK_GATEWAY_HOME to a folder on a local disk with free space.",
        started=False,
    )
