"""Migrations are whole or not at all, and a newer build's file is left alone (M-08, ADR-016)."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker.errors import VersionSkew
from broker.journal_faults import JournalBusy
from broker.journal_schema import MIGRATIONS, SUPPORTED_VERSION, Step, migrate, refuse_newer, user_version
from broker.journal_store import JournalStore
from tests.broker.mutation_helpers import request
from tests.shared import case_input

GOOD_STEP: Step = (
    "ALTER TABLE mutations ADD COLUMN probe_a TEXT",
    "CREATE TABLE probes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
    "INSERT INTO probes SELECT id, key FROM mutations",
    "CREATE INDEX probes_by_text ON probes (text)",
)
"""A second step as a later build might have it: it changes a table, makes one, and moves data."""
WITH_GOOD_STEP = (*MIGRATIONS, GOOD_STEP)


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def file_with_a_row(folder: Path) -> Path:
    """A journal of this build with one write in it."""
    path = folder / "journal.sqlite"
    store = JournalStore(path, "me", lambda owner: False)
    store.begin(request("kept"))
    store.close()
    return path


def shape(path: Path) -> tuple[int, list[str], list[tuple[str, ...]]]:
    """Version, everything that the schema has, and the rows."""
    connection = connect(path)
    made = [str(row[0]) for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    rows = connection.execute("SELECT key, state FROM mutations").fetchall()
    version = user_version(connection)
    connection.close()
    return version, sorted(made), rows


def test_a_new_file_gets_every_step(tmp_path: Path) -> None:
    connection = connect(tmp_path / "journal.sqlite")
    migrate(connection)
    assert user_version(connection) == SUPPORTED_VERSION
    connection.close()


def test_a_file_that_is_up_to_date_is_not_written_to(tmp_path: Path) -> None:
    path = file_with_a_row(tmp_path)
    before = path.read_bytes()
    connection = connect(path)
    migrate(connection)
    connection.close()
    assert path.read_bytes() == before


def test_c023_a_step_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    path = file_with_a_row(tmp_path)
    before = shape(path)
    failing = tuple(case_input("C-023-failing-step.sql").read_text(encoding="utf-8").strip().split("\n"))
    assert len(failing) == 3
    connection = connect(path)
    for _ in range(2):  # and the next start fails in the same way, not in a worse one
        with pytest.raises(sqlite3.OperationalError, match="no_such_table"):
            migrate(connection, (*MIGRATIONS, failing))
        assert not connection.in_transaction
    connection.close()
    assert shape(path) == before
    assert before[0] == 1

    connection = connect(path)
    migrate(connection, WITH_GOOD_STEP)
    assert connection.execute("SELECT text FROM probes").fetchall() == [("kept",)]
    connection.close()


KILLED_MIGRATION = """
import json, os, signal, sqlite3, sys
from broker.journal_schema import migrate
path, steps, nth = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
connection = sqlite3.connect(path, isolation_level=None)
seen = 0
def count(statement):
    global seen
    if statement.startswith("PRAGMA user_version") and "=" not in statement:
        return
    if seen == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    seen += 1
connection.set_trace_callback(count)  # called before each statement runs
migrate(connection, steps)
print("whole", seen)
"""


def migrate_and_be_killed(path: Path, steps: Sequence[Step], nth: int) -> str:
    """Run the migration in a process that is killed before its statement `nth`; return what it printed."""
    outcome = subprocess.run(
        [sys.executable, "-c", KILLED_MIGRATION, str(path), json.dumps(steps), str(nth)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome.returncode in (0, -9), outcome.stderr
    return outcome.stdout


def test_c023_a_kill_between_any_two_statements_of_a_later_step_changes_nothing(tmp_path: Path) -> None:
    path = file_with_a_row(tmp_path)
    before = shape(path)
    kills = 0
    while not (printed := migrate_and_be_killed(path, WITH_GOOD_STEP, kills)):
        assert shape(path) == before, f"killed before statement {kills}"
        kills += 1
    assert kills == len(GOOD_STEP) + 3  # BEGIN, the version, COMMIT
    assert printed.startswith("whole")
    version, made, rows = shape(path)
    assert (version, rows) == (2, before[2])
    assert any("probes_by_text" in sql for sql in made)


def test_c023_a_kill_between_any_two_statements_of_the_first_step_leaves_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    kills = 0
    while not migrate_and_be_killed(path, MIGRATIONS, kills):
        connection = connect(path)
        assert user_version(connection) == 0
        assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
        connection.close()
        kills += 1
    assert kills == len(MIGRATIONS[0]) + 3
    assert shape(path)[0] == 1


def newer_file(folder: Path) -> Path:
    path = file_with_a_row(folder)
    connection = connect(path)
    connection.execute("ALTER TABLE mutations ADD COLUMN of_the_future TEXT")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    return path


def test_c024_a_newer_file_is_refused_with_both_versions_and_keeps_its_bytes(tmp_path: Path) -> None:
    path = newer_file(tmp_path)
    before = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises(VersionSkew, match=r"version 99; this build supports up to 1") as caught:
        JournalStore(path, "me", lambda owner: False)
    assert caught.value.details == {"found": 99, "supported": SUPPORTED_VERSION}
    assert not caught.value.started
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_c024_a_newer_file_whose_log_is_not_moved_yet_keeps_its_bytes_too(tmp_path: Path) -> None:
    """Its broker was killed: the version stands in the write-ahead log, not yet in the file."""
    path = file_with_a_row(tmp_path)
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "connection.execute('ALTER TABLE mutations ADD COLUMN of_the_future TEXT')\n"
            "connection.execute('PRAGMA user_version = 99')\n"
            "os._exit(0)\n",
            str(path),
        ],
        check=True,
        timeout=60,
    )
    log = path.with_name("journal.sqlite-wal")
    before = path.read_bytes(), log.read_bytes()
    assert log.stat().st_size > 0
    with pytest.raises(VersionSkew, match="version 99"):
        JournalStore(path, "me", lambda owner: False)
    assert (path.read_bytes(), log.read_bytes()) == before


def test_the_check_itself_writes_nothing(tmp_path: Path) -> None:
    connection = connect(newer_file(tmp_path))
    before = connection.total_changes
    with pytest.raises(VersionSkew):
        refuse_newer(connection)
    with pytest.raises(VersionSkew):
        migrate(connection)
    assert connection.total_changes == before
    connection.close()


def test_a_step_that_another_broker_has_done_meanwhile_is_not_done_twice(tmp_path: Path) -> None:
    """Between the look at the version and the lock, somebody else may be faster."""
    path = file_with_a_row(tmp_path)
    slow, fast = connect(path), connect(path)
    overtaken: list[str] = []

    def overtake(statement: str) -> None:
        if statement.startswith("BEGIN") and not overtaken:
            overtaken.append(statement)
            migrate(fast, WITH_GOOD_STEP)

    slow.set_trace_callback(overtake)
    migrate(slow, WITH_GOOD_STEP)
    assert overtaken
    assert user_version(slow) == 2
    assert slow.execute("SELECT count(*) FROM probes").fetchone() == (1,)
    slow.close()
    fast.close()


def test_many_brokers_that_make_the_file_at_once_make_it_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    def open_and_close(number: int) -> int:
        while True:
            try:
                store = JournalStore(path, f"owner-{number}", lambda owner: False)
            except JournalBusy:
                continue  # what `broker.journal` does, with pauses
            record = store.begin(request(f"key-{number}")).record
            store.close()
            return record.id

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(open_and_close, range(8)))
    assert len(set(numbers)) == 8
    version, _, rows = shape(path)
    assert (version, len(rows)) == (SUPPORTED_VERSION, 8)
