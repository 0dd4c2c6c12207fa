"""The journal's file: closed to others, in the modes that were decided, and refused in clear words where that fails."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from broker.errors import InternalError
from broker.journal_faults import JournalBusy
from broker.journal_states import State
from broker.journal_store import BUSY_TIMEOUT_S, FULL, JournalStore
from tests.broker.journal_helpers import Brokers, begin, row_of

RESULT: dict[str, object] = {"made": "x"}


@pytest.fixture
def brokers(tmp_path: Path) -> Generator[Brokers]:
    brokers = Brokers(tmp_path / "journal.sqlite")
    with brokers.opened:
        yield brokers


def pragma(store: JournalStore, name: str) -> object:
    return store._connection.execute(f"PRAGMA {name}").fetchone()[0]  # pyright: ignore[reportPrivateUsage]


def test_the_file_and_its_companions_are_closed_to_others(brokers: Brokers) -> None:
    begin(brokers.open("one"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in brokers.path.parent.iterdir()}
    assert modes == dict.fromkeys(("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"), 0o600)


def test_what_is_in_force_is_what_the_decision_says(brokers: Brokers) -> None:
    store = brokers.open("one")
    assert pragma(store, "journal_mode") == "wal"
    assert pragma(store, "synchronous") == FULL
    assert pragma(store, "busy_timeout") == BUSY_TIMEOUT_S * 1000 == 250
    assert pragma(store, "foreign_keys") == 1


def test_no_text_of_a_write_is_in_the_file(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store, name="the content of a note")
    store.mark_sent(row, "create", {})
    store.confirm(row, RESULT)
    files = b"".join(path.read_bytes() for path in brokers.path.parent.iterdir())
    assert b"the content of a note" not in files
    assert b"prepared" in files  # the positive control: the rows are in what was read


def test_c027_a_mode_that_is_not_the_write_ahead_log_is_refused(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An in-memory database answers ``memory`` to the pragma, as some network folders answer ``delete``."""
    real_connect = sqlite3.connect

    def connect_in_memory(database: object, **options: object) -> sqlite3.Connection:
        return real_connect(database if options.get("uri") else ":memory:", **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", connect_in_memory)
    with pytest.raises(InternalError, match="'memory' there instead of WAL") as caught:
        brokers.open("one")
    assert str(brokers.path.parent) in caught.value.message
    assert not caught.value.started


def test_c027_a_network_folder_is_refused_by_name_before_a_file_is_made(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.journal_store.maybe_network_file_system", lambda folder: "nfs4")
    with pytest.raises(InternalError, match="is on nfs4") as caught:
        brokers.open("one")
    assert str(brokers.path) in caught.value.message
    assert "NOTEBOOK_GATEWAY_HOME" in caught.value.hint
    assert not brokers.path.exists()


@pytest.mark.parametrize(
    "damage", [b"this is no database " * 300, b"SQLite format 3\x00" + b"\xff" * 5000], ids=["text", "bad header"]
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(brokers: Brokers, damage: bytes) -> None:
    brokers.path.write_bytes(damage)
    with pytest.raises(InternalError, match=r"SQLite says SQLITE_\w+"):
        brokers.open("one")
    assert brokers.path.read_bytes() == damage


def test_a_folder_in_the_files_place_is_refused(brokers: Brokers) -> None:
    brokers.path.mkdir()
    with pytest.raises(InternalError, match=r"SQLite says SQLITE_\w+"):
        brokers.open("one")


def test_another_writer_is_told_apart_from_a_fault(brokers: Brokers) -> None:
    store = brokers.open("one")
    other = sqlite3.connect(brokers.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy):
        begin(store)
    assert store.records() == []  # readers are not held up
    other.execute("ROLLBACK")
    other.close()
    assert begin(store)


UNWRITABLE = """
import json, os, sys
from pathlib import Path
from broker.errors import GatewayError
from broker.journal_store import JournalStore
from tests.broker.mutation_helpers import request
import resource, signal
path, how = Path(sys.argv[1]), sys.argv[2]
store = JournalStore(path, "one", lambda owner: False)
row = store.begin(request("before")).record.id
if how == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = path.with_name(path.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
else:
    store.close()
    path.chmod(0o444)
    if os.geteuid() == 0:  # the superuser may write to anything
        os.chown(path.parent, 65534, 65534)
        os.chown(path, 65534, 65534)
        os.seteuid(65534)
said = []
try:
    if how != "full":
        store = JournalStore(path, "one", lambda owner: False)
    store.mark_sent(row, "create", {"before": ["x" * 100] * 100})
except GatewayError as error:
    said.append([error.code, error.message, error.started])
print(json.dumps({"said": said, "state": store.maybe_record(row).state if how == "full" else None}))
"""


def unwritable(path: Path, how: str) -> dict[str, Any]:
    outcome = subprocess.run(
        [sys.executable, "-c", UNWRITABLE, str(path), how], capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    said: dict[str, Any] = json.loads(outcome.stdout)
    return said


def test_a_full_disk_is_an_error_before_anything_is_sent(brokers: Brokers) -> None:
    said = unwritable(brokers.path, "full")
    ((code, message, started),) = said["said"]
    assert (code, started) == ("INTERNAL", False)
    assert "SQLITE_FULL" in message or "SQLITE_IOERR" in message
    assert said["state"] == State.PREPARED
    record = row_of(brokers.open("two"), 1)
    assert (record.state, record.steps) == (State.PREPARED, ())


def test_a_file_that_may_not_be_written_is_an_error_before_anything_is_sent() -> None:
    """In a folder of its own below /tmp, which another user can reach: as root the test changes to one."""
    with tempfile.TemporaryDirectory() as folder:
        ((code, message, started),) = unwritable(Path(folder) / "journal.sqlite", "read-only")["said"]
        assert (code, started) == ("INTERNAL", False)
        assert "cannot be used" in message
