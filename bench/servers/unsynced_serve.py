"""`serve` whose journal never waits for the disk: what `synchronous = FULL` costs is the difference to the real one.

For measuring only. After a power cut such a journal may have forgotten that a request was sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from broker import journal
from broker.journal_store import JournalStore
from broker.serve import run


class UnsyncedStore(JournalStore):
    """The journal with the one pragma changed."""

    def __init__(self, path: Path, owner: str, is_alive: Callable[[str], bool]) -> None:
        super().__init__(path, owner, is_alive)
        self._connection.execute("PRAGMA synchronous = OFF")


if __name__ == "__main__":
    journal.JournalStore = UnsyncedStore  # type: ignore[misc]
    sys.exit(run())
