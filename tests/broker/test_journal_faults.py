"""Which of SQLite's errors means wait, and which is a fault."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from broker.errors import InternalError
from broker.journal_faults import JournalBusy, translated

PATH = Path("/home/ada/.notebook-gateway/journal.sqlite")


def with_code(error: sqlite3.Error, code: int, name: str) -> sqlite3.Error:
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    "name",
    ["SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY_RECOVERY", "SQLITE_LOCKED", "SQLITE_LOCKED_SHAREDCACHE"],
)
def test_a_lock_of_another_broker_means_wait(name: str) -> None:
    with pytest.raises(JournalBusy), translated(PATH):
        raise with_code(sqlite3.OperationalError("database is locked"), getattr(sqlite3, name), name)


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_IOERR_FSYNC", "SQLITE_CORRUPT", "SQLITE_READONLY"])
def test_everything_else_is_a_fault_that_names_file_and_code_only(name: str) -> None:
    with pytest.raises(InternalError) as caught, translated(PATH):
        raise with_code(sqlite3.DatabaseError("a value of a row"), getattr(sqlite3, name), name)
    assert str(PATH) in caught.value.message
    assert name in caught.value.message
    assert "a value" not in caught.value.message
    assert not caught.value.started


def test_a_use_after_closing_is_a_fault_too(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x")
    connection.close()
    with pytest.raises(InternalError, match="ProgrammingError"), translated(PATH):
        connection.execute("SELECT 1")


def test_errors_of_the_system_and_of_our_own_folders_say_their_reason() -> None:
    with pytest.raises(InternalError, match="No space left"), translated(PATH):
        raise OSError(28, "No space left on device")
    with pytest.raises(InternalError, match="run is not a folder"), translated(PATH):
        raise OSError("run is not a folder")


def test_our_own_errors_pass() -> None:
    with pytest.raises(KeyError), translated(PATH):
        raise KeyError("x")
