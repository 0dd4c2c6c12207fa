"""The journal's tables, and how a file of an older build becomes one of this build (M-08, C-023, C-024).

Each step is a list of single statements run inside one `BEGIN IMMEDIATE`. `executescript` is never used: it commits the
open transaction before it runs, so a step that fails half way would stay half done (measured, Python 3.11).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from broker.errors import VersionSkew

Step = Sequence[str]

MIGRATIONS: Final[tuple[Step, ...]] = (
    (
        """
        CREATE TABLE mutations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account TEXT NOT NULL,
            tool TEXT NOT NULL,
            key TEXT NOT NULL,
            notebook_id TEXT NOT NULL,
            payload_hash TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('prepared', 'sent', 'confirmed', 'rejected', 'unknown')),
            owner TEXT NOT NULL,
            result TEXT,
            error TEXT,
            traceparent TEXT NOT NULL,
            created_at_ms INTEGER NOT NULL,
            updated_at_ms INTEGER NOT NULL,
            UNIQUE (account, tool, key)
        ) STRICT
        """,
        """
        CREATE TABLE steps (
            mutation_id INTEGER NOT NULL REFERENCES mutations (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('sent', 'confirmed')),
            facts TEXT NOT NULL,
            updated_at_ms INTEGER NOT NULL,
            PRIMARY KEY (mutation_id, name)
        ) STRICT, WITHOUT ROWID
        """,
        # One remote thing, one row: whatever a read-back finds can be taken once.
        """
        CREATE TABLE claims (
            account TEXT NOT NULL,
            remote_id TEXT NOT NULL,
            mutation_id INTEGER NOT NULL REFERENCES mutations (id) ON DELETE CASCADE,
            PRIMARY KEY (account, remote_id)
        ) STRICT, WITHOUT ROWID
        """,
        # Who may create in a notebook now: from the list before sending to the settlement.
        """
        CREATE TABLE leases (
            account TEXT NOT NULL,
            notebook_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            mutation_id INTEGER NOT NULL,
            owner TEXT NOT NULL,
            PRIMARY KEY (account, notebook_id, kind)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX mutations_by_notebook ON mutations (account, notebook_id, fingerprint, state)",
        "CREATE INDEX mutations_by_age ON mutations (state, updated_at_ms)",
        "CREATE INDEX claims_by_mutation ON claims (mutation_id)",
    ),
)
"""Step n, counted from zero, turns `user_version` n into n + 1."""

SUPPORTED_VERSION: Final = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, migrations: Sequence[Step] = MIGRATIONS) -> None:
    """Bring the tables up to date, one step and one transaction at a time.

    Raises:
        VersionSkew: a newer build wrote the file; nothing was changed.
        sqlite3.Error: a step failed; the file is at the version before that step, whole.
    """
    refuse_newer(connection, len(migrations))
    while (version := user_version(connection)) < len(migrations):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another broker may have been faster between the look and the lock.
            if user_version(connection) == version:
                for statement in migrations[version]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def refuse_newer(connection: sqlite3.Connection, supported: int = SUPPORTED_VERSION) -> None:
    """Check the version before anything else touches the file.

    Raises:
        VersionSkew: a newer build wrote it. Its rows cannot be understood, so no double write could be prevented.
    """
    found = user_version(connection)
    if found > supported:
        raise VersionSkew(
            f"The mutation journal has version {found}; this build supports up to {supported}. Nothing was written.",
            hint="Update notebook-gateway: `pip install --upgrade notebook-gateway`.",
            details={"found": found, "supported": supported},
            started=False,
        )


def user_version(connection: sqlite3.Connection) -> int:
    """Return the file's version; 0 is a new file."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
