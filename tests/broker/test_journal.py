"""The journal off the Trio loop, on real files, threads and locks (ADR-005)."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

import broker.journal
from broker.errors import InternalError, VersionSkew
from broker.journal import Journal, open_journal
from broker.journal_rows import Found
from broker.journal_states import State
from broker.journal_store import JournalStore
from native_host.paths import journal_file, run_folder
from tests.broker.mutation_helpers import request

HELD_S = 30.0
"""How long a statement is held at most when a test has a fault."""


class Held:
    """Stands in for the question whether an owner is alive, which a statement asks in its thread and transaction."""

    def __init__(self) -> None:
        self.reached = trio.Event()
        self.released = threading.Event()
        self.at_once = 0
        self.most_at_once = 0
        self.was_released = False

    def __call__(self, owner: str) -> bool:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        trio.from_thread.run_sync(self.reached.set)
        self.was_released = self.released.wait(HELD_S)
        self.at_once -= 1
        return False


@asynccontextmanager
async def journal_of(home: Path, is_alive: Callable[[str], bool] = lambda owner: False) -> AsyncGenerator[Journal]:
    store = JournalStore(journal_file(home), "me", is_alive)
    yield Journal(store, Random(1))
    store.close()


def leave_rows_of_another(home: Path, *keys: str) -> None:
    store = JournalStore(journal_file(home), "another", lambda owner: False)
    for key in keys:
        store.begin(request(key))
    store.close()


@contextmanager
def locked(home: Path) -> Generator[sqlite3.Connection]:
    """Hold the write lock as another process would."""
    connection = sqlite3.connect(journal_file(home), isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.close()


# ---------------------------------------------------------------------------------------------------- off the loop
async def test_the_loop_goes_on_while_a_statement_is_held_up(tmp_path: Path) -> None:
    leave_rows_of_another(tmp_path, "k")
    held = Held()
    async with journal_of(tmp_path, held) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(journal.begin, request("k"))
        await held.reached.wait()
        held.released.set()  # by the loop, while the statement stands still
    assert held.was_released


async def test_one_statement_runs_at_a_time(tmp_path: Path) -> None:
    keys = [str(number) for number in range(5)]
    leave_rows_of_another(tmp_path, *keys)
    held = Held()
    async with journal_of(tmp_path, held) as journal, trio.open_nursery() as nursery:
        for key in keys:
            nursery.start_soon(journal.begin, request(key))
        await held.reached.wait()
        await trio.testing.wait_all_tasks_blocked()
        held.released.set()
    assert held.most_at_once == 1


async def test_a_statement_waits_until_the_file_is_free(tmp_path: Path) -> None:
    async with journal_of(tmp_path) as journal:
        with locked(tmp_path) as connection:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(journal.begin, request("k"))
                await trio.testing.wait_all_tasks_blocked()
                connection.execute("ROLLBACK")
        assert await journal.is_begun(request("k")) is False
        assert (await journal.begin(request("k"))).found is Found.OURS


async def test_a_file_that_stays_locked_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker.journal, "BUSY_FOR_S", 0.1)
    async with journal_of(tmp_path) as journal:
        with locked(tmp_path), pytest.raises(InternalError, match=r"stayed locked for 0\.1 s") as caught:
            await journal.begin(request("k"))
        assert (caught.value.retryable, caught.value.started) == (True, False)
        assert (await journal.begin(request("k"))).found is Found.OURS


async def test_readers_are_not_held_up_by_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker.journal, "BUSY_FOR_S", 0.1)
    async with journal_of(tmp_path) as journal:
        row = (await journal.begin(request("k"))).record.id
        with locked(tmp_path):
            assert await journal.claimed_among("ada@example.com", ["x"]) == frozenset()
            assert await journal.rivals(row, "create") == 0
            assert not await journal.is_begun(request("k"))


async def test_c026_another_connection_that_commits_all_the_time_disturbs_no_write(tmp_path: Path) -> None:
    """A hundred writes, each reading and then writing in four transactions; the other commits every 5 ms."""
    async with journal_of(tmp_path) as journal:
        with sqlite3.connect(journal_file(tmp_path)) as setup:
            setup.execute("CREATE TABLE disturbances (number INTEGER)")
        setup.close()
        ended, disturbing_now = threading.Event(), threading.Event()
        commits = 0

        def disturb() -> None:
            nonlocal commits
            other = sqlite3.connect(journal_file(tmp_path), isolation_level=None, timeout=10)
            while not ended.wait(0.005):
                other.execute("INSERT INTO disturbances VALUES (1)")
                commits += 1
                disturbing_now.set()
            other.close()

        async def write(number: int) -> None:
            row = (await journal.begin(request(f"key-{number}"))).record.id
            await journal.mark_sent(row, "create", {"before": []})
            await journal.prove_step(row, "create", {"remote_id": f"id-{number}"}, f"id-{number}")
            await journal.confirm(row, {"made": number})

        async with trio.open_nursery() as disturbing:
            disturbing.start_soon(trio.to_thread.run_sync, disturb)
            try:
                await trio.to_thread.run_sync(disturbing_now.wait)
                before = commits
                async with trio.open_nursery() as writing:
                    for number in range(100):
                        writing.start_soon(write, number)
                assert commits > before
            finally:
                ended.set()
        store = JournalStore(journal_file(tmp_path), "reader", lambda owner: False)
        records = store.records()
        store.close()
    assert Counter(record.key for record in records) == {f"key-{number}": 1 for number in range(100)}
    assert {record.state for record in records} == {State.CONFIRMED}


# ---------------------------------------------------------------------------------------------------- cancellation
async def test_a_cancel_during_a_statement_lets_it_end_and_leaves_the_row_whole(tmp_path: Path) -> None:
    leave_rows_of_another(tmp_path, "k")
    held = Held()
    async with journal_of(tmp_path, held) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.begin, request("k"))
            await held.reached.wait()
            nursery.cancel_scope.cancel()
            await trio.lowlevel.cancel_shielded_checkpoint()
            held.released.set()
        assert held.at_once == 0  # its thread has ended, too
        begun = await journal.begin(request("k"))
    assert (begun.found, begun.record.owner, begun.record.state) == (Found.OURS, "me", State.PREPARED)


async def test_a_cancel_before_the_statement_has_its_turn_does_nothing(tmp_path: Path) -> None:
    leave_rows_of_another(tmp_path, "first")
    held = Held()
    async with journal_of(tmp_path, held) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(journal.begin, request("first"))
        await held.reached.wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.begin(request("second"))
        assert scope.cancelled_caught
        held.released.set()
    store = JournalStore(journal_file(tmp_path), "reader", lambda owner: False)
    assert [record.key for record in store.records()] == ["first"]
    store.close()


async def test_a_cancel_while_the_file_is_locked_ends_the_waiting(tmp_path: Path) -> None:
    async with journal_of(tmp_path) as journal:
        with locked(tmp_path), trio.fail_after(HELD_S), trio.move_on_after(0.01) as scope:
            await journal.begin(request("k"))
        assert scope.cancelled_caught
        assert not await journal.is_begun(request("k"))


# ---------------------------------------------------------------------------------------------------- opening
async def test_two_brokers_share_one_file_and_know_of_each_other(tmp_path: Path) -> None:
    async with open_journal(tmp_path) as two:
        async with open_journal(tmp_path) as one:
            await one.begin(request("k"))
            assert (await two.begin(request("k"))).found is Found.ELSEWHERE
        assert (await two.begin(request("k"))).found is Found.OURS
    assert list(run_folder(tmp_path).iterdir()) == []


async def test_old_settled_rows_are_forgotten_at_the_next_start(tmp_path: Path) -> None:
    async with open_journal(tmp_path) as journal:
        for key in ("settled", "open"):
            row = (await journal.begin(request(key))).record.id
            await journal.mark_sent(row, "create", {})
            if key == "settled":
                await journal.confirm(row, {})
    with sqlite3.connect(journal_file(tmp_path)) as aging:
        aging.execute("UPDATE mutations SET updated_at_ms = updated_at_ms - ?", (91 * 24 * 3600 * 1000,))
    aging.close()
    async with open_journal(tmp_path) as journal:
        assert not await journal.is_begun(request("settled"))
        assert await journal.is_begun(request("open"))


async def test_c024_a_newer_file_is_refused_and_no_lock_is_left(tmp_path: Path) -> None:
    with sqlite3.connect(journal_file(tmp_path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(VersionSkew, match="version 99"):
        async with open_journal(tmp_path):
            pass
    assert list(run_folder(tmp_path).iterdir()) == []


async def test_a_home_folder_that_cannot_be_used_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(InternalError, match="cannot be used") as caught:
        async with open_journal(tmp_path / "home"):
            pass
    assert not caught.value.started


async def test_a_run_folder_that_leads_elsewhere_is_refused_by_name(tmp_path: Path) -> None:
    run_folder(tmp_path).symlink_to(tmp_path)
    with pytest.raises(InternalError, match="run is not a folder"):
        async with open_journal(tmp_path):
            pass
    assert not journal_file(tmp_path).exists()


async def test_a_home_folder_may_be_a_link(tmp_path: Path) -> None:
    """People keep it on another disk, and everything else works there."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with open_journal(tmp_path / "link") as journal:
        assert (await journal.begin(request("k"))).found is Found.OURS


# ---------------------------------------------------------------------------------------------------- on the disk
WHOLE_WRITE = """
import os, sys, trio
from pathlib import Path
from broker.journal import open_journal
from tests.broker.mutation_helpers import request

def say(text):
    os.write(1, f"marker {text}\\n".encode())

async def main():
    async with open_journal(Path(sys.argv[1])) as journal:
        say("opened")
        row = (await journal.begin(request("k"))).record.id
        say("begun")
        await journal.mark_sent(row, "create", {"before": ["x"]})
        say("may leave")
        await journal.prove_step(row, "create", {"remote_id": "y"}, "y")
        say("proven")
        await journal.confirm(row, {"made": "y"})
        say("confirmed")

trio.run(main)
"""
SYSTEM_CALL = re.compile(r"^(?P<task>\d+) +(?:<\.\.\. )?(?P<name>\w+)(?P<rest>.*)$")


def marks_and_syncs(trace: str) -> list[str]:
    """Markers, and ``sync`` for every synchronisation of the write-ahead log, in the order of their ends."""
    found: list[str] = []
    unfinished: dict[str, str] = {}
    for line in trace.splitlines():
        call = SYSTEM_CALL.match(line)
        if call is None:
            continue
        text = unfinished.pop(call["task"], "") + call["rest"]
        if text.endswith("<unfinished ...>"):
            unfinished[call["task"]] = text
        elif call["name"] in ("fsync", "fdatasync") and "journal.sqlite-wal" in text:
            assert text.endswith("= 0"), line
            found.append("sync")
        elif marker := re.search(r'"marker ([a-z ]+)\\n"', text):
            found.append(marker[1])
    return found


def test_the_mark_is_on_the_disk_before_the_request_may_leave(tmp_path: Path) -> None:
    """Counted at the system calls: one synchronisation per step of a write's life, each before its call returns."""
    trace = tmp_path / "trace"
    outcome = subprocess.run(
        [
            *("strace", "-f", "-y", "-qq", "-e", "trace=fsync,fdatasync,write", "-o", str(trace)),
            *(sys.executable, "-c", WHOLE_WRITE, str(tmp_path / "home")),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    found = marks_and_syncs(trace.read_text())
    assert "sync" in found[: found.index("opened")]  # the tables
    life = found[found.index("opened") : found.index("confirmed") + 1]
    assert life == ["opened", "sync", "begun", "sync", "may leave", "sync", "proven", "sync", "confirmed"]
