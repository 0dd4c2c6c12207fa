"""The journal's statements. Blocking; `broker.journal` runs them off the Trio loop.

Every change is one `BEGIN IMMEDIATE` transaction: a deferred one that reads and then writes fails at once when another
connection committed in between, whatever the busy time-out (C-026, measured).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, cast

from broker.errors import InvalidArgument
from broker.file_systems import maybe_network_file_system
from broker.journal_faults import ClaimTaken, translated, unusable
from broker.journal_rows import COLUMNS, Begun, Found, Json, MutationRecord, Request, record_from, to_json
from broker.journal_schema import migrate, refuse_newer
from broker.journal_states import SETTLED, Event, State, next_state

BUSY_TIMEOUT_S: Final = 0.25
"""Short, so that a thread never holds up the end of the process; `broker.journal` tries again in Trio."""
FULL: Final = 2
KEEP_SETTLED_DAYS: Final = 90
PRUNE_AT_MOST: Final = 1000
_DAY_MS: Final = 24 * 3600 * 1000


class JournalStore:
    """One connection to one journal file, for one thread at a time.

    `is_alive` tells of an owner's name whether that broker still runs.

    Raises (all methods): JournalBusy; InternalError when the file cannot be read or written.
    """

    def __init__(self, path: Path, owner: str, is_alive: Callable[[str], bool]) -> None:
        """Open or create the journal.

        Raises:
            VersionSkew: a newer build wrote it; no byte of it was changed.
            InternalError: WAL or full synchronisation is not in force there.
        """
        self._path = path
        self._owner = owner
        self._is_alive = is_alive
        network = maybe_network_file_system(path.parent)
        if network is not None:
            raise unusable(path, f"the folder is on {network}, where SQLite's write-ahead log is not safe")
        with translated(path):
            path.touch(mode=0o600)
            _refuse_newer_file(path)
            self._connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        try:
            with translated(path):
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def __repr__(self) -> str:
        return f"<JournalStore {self._path.name}>"

    def _open(self) -> None:
        # The pragma answers with the mode that is in force, which need not be the one asked for (C-027).
        (mode,) = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise unusable(self._path, f"SQLite keeps to journal mode {mode!r} there instead of WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        (synchronous,) = self._connection.execute("PRAGMA synchronous").fetchone()
        if synchronous != FULL:
            raise unusable(self._path, f"SQLite does not synchronise fully there (level {synchronous})")
        self._connection.execute("PRAGMA foreign_keys = ON")
        migrate(self._connection)

    def close(self) -> None:
        self._connection.close()

    # ------------------------------------------------------------------------------------------------ one request
    def begin(self, request: Request) -> Begun:
        """Find or make the row of `request`, and take it over if nobody alive has it."""
        with self._writing():
            found = self._connection.execute(
                "SELECT id, payload_hash FROM mutations WHERE account = ? AND tool = ? AND key = ?",
                (request.account, request.tool, request.key),
            ).fetchone()
            if found is None:
                return Begun(Found.OURS, self._insert(request))
            record = self._load(found[0])
            if found[1] != request.payload_hash:
                return Begun(Found.OTHER_PAYLOAD, record)
            if record.is_settled:
                return Begun(Found.SETTLED, record)
            if record.owner not in ("", self._owner) and self._is_alive(record.owner):
                return Begun(Found.ELSEWHERE, record)
            if record.state is State.SENT:
                # Its broker died, or lost the row, while a request was out.
                self._move(record, Event.LOSE)
            self._connection.execute("UPDATE mutations SET owner = ? WHERE id = ?", (self._owner, record.id))
            return Begun(Found.OURS, self._load(record.id))

    def is_begun(self, request: Request) -> bool:
        """Tell whether a row of `request` says more than that it was asked for."""
        with translated(self._path):
            row = self._connection.execute(
                "SELECT 1 FROM mutations WHERE account = ? AND tool = ? AND key = ? AND state <> 'prepared'",
                (request.account, request.tool, request.key),
            ).fetchone()
        return row is not None

    def _insert(self, request: Request) -> MutationRecord:
        now_ms = _now_ms()
        cursor = self._connection.execute(
            "INSERT INTO mutations (account, tool, key, notebook_id, payload_hash, fingerprint, state, owner,"
            " traceparent, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                request.account,
                request.tool,
                request.key,
                request.notebook_id,
                request.payload_hash,
                request.fingerprint,
                State.PREPARED,
                self._owner,
                request.traceparent,
                now_ms,
                now_ms,
            ),
        )
        return self._load(cast("int", cursor.lastrowid))

    def try_lease(self, mutation_id: int, kind: str) -> bool:
        """Take the lease to create things of `kind` in the write's notebook, unless another living broker has it.

        Within one broker turns are taken before (`Mutation.turn_to_create`), so a lease of our own is one that could
        not be given back, and never bars the way.
        """
        with self._writing():
            record = self._load(mutation_id)
            scope = (record.account, record.notebook_id, kind)
            held = self._connection.execute(
                "SELECT owner FROM leases WHERE account = ? AND notebook_id = ? AND kind = ?", scope
            ).fetchone()
            if held is not None and held[0] != self._owner and self._is_alive(held[0]):
                return False
            self._connection.execute(
                "INSERT OR REPLACE INTO leases (account, notebook_id, kind, mutation_id, owner) VALUES (?, ?, ?, ?, ?)",
                (*scope, record.id, self._owner),
            )
            return True

    # ------------------------------------------------------------------------------------------------ its steps
    def mark_sent(self, mutation_id: int, step: str, facts: Json) -> MutationRecord:
        """Make durable that the request of `step` is about to leave."""
        with self._writing():
            record = self._move(self._load(mutation_id), Event.SEND)
            self._put_step(record.id, step, State.SENT, facts)
            return self._load(record.id)

    def take_back(self, mutation_id: int, step: str) -> MutationRecord:
        """Forget the request of `step`, the only one so far, which provably never started. Gives the lease back."""
        with self._writing():
            record = self._move(self._load(mutation_id), Event.TAKE_BACK)
            assert [each.name for each in record.steps] == [step]
            self._connection.execute("DELETE FROM steps WHERE mutation_id = ?", (mutation_id,))
            self._drop_leases(mutation_id)
            return self._load(mutation_id)

    def prove_step(self, mutation_id: int, step: str, facts: Json, claim: str | None) -> MutationRecord:
        """Record that `step` took effect, and take the remote id `claim` for this write. Gives the lease back.

        Raises:
            ClaimTaken: another write has that id.
        """
        with self._writing():
            record = self._load(mutation_id)
            self._claim(record, claim)
            self._put_step(record.id, step, State.CONFIRMED, facts)
            self._drop_leases(record.id)
            return self._load(record.id)

    def confirm(self, mutation_id: int, result: Json) -> MutationRecord:
        """Settle the write with its result."""
        with self._writing():
            record = self._move(self._load(mutation_id), Event.CONFIRM)
            self._settle(record, "result", result)
            return self._load(record.id)

    def reject(self, mutation_id: int, error: Json) -> MutationRecord:
        """Settle the write with a proven failure."""
        with self._writing():
            record = self._move(self._load(mutation_id), Event.REJECT)
            self._settle(record, "error", error)
            return self._load(record.id)

    def lose(self, mutation_id: int, error: Json) -> MutationRecord:
        """Freeze the write as unknown, free for a later look."""
        with self._writing():
            record = self._move(self._load(mutation_id), Event.LOSE)
            self._settle(record, "error", error)
            return self._load(record.id)

    def let_go(self, mutation_id: int) -> None:
        """Leave a write of which nothing was sent to whoever asks for it next."""
        with self._writing():
            self._connection.execute("UPDATE mutations SET owner = '' WHERE id = ?", (mutation_id,))
            self._drop_leases(mutation_id)

    # ------------------------------------------------------------------------------------------------ looking back
    def claimed_among(self, account: str, remote_ids: Collection[str]) -> frozenset[str]:
        """Return those of `remote_ids` that some write has taken."""
        with translated(self._path):
            rows = self._connection.execute("SELECT remote_id FROM claims WHERE account = ?", (account,)).fetchall()
        return frozenset(row[0] for row in rows) & frozenset(remote_ids)

    def rivals(self, mutation_id: int, step: str) -> int:
        """Count the other unsettled writes whose `step` a look at the notebook could not tell from this one's."""
        with translated(self._path):
            (count,) = self._connection.execute(
                "SELECT count(*) FROM mutations AS mine"
                " JOIN mutations AS other USING (account, notebook_id, fingerprint)"
                " JOIN steps ON steps.mutation_id = other.id AND steps.name = ? AND steps.state = 'sent'"
                " WHERE mine.id = ? AND other.id <> mine.id AND other.state IN ('sent', 'unknown')",
                (step, mutation_id),
            ).fetchone()
        return int(count)

    # ------------------------------------------------------------------------------------------------ for people
    def records(self, state: State | None = None, limit: int = 1000) -> list[MutationRecord]:
        """Return rows, newest first; only those in `state` if given."""
        where, values = ("WHERE state = ?", (state,)) if state is not None else ("", ())
        with self._reading():
            rows = self._connection.execute(
                f"SELECT id FROM mutations {where} ORDER BY id DESC LIMIT ?",  # noqa: S608  # fixed texts
                (*values, limit),
            ).fetchall()
            return [self._load(row[0]) for row in rows]

    def maybe_record(self, mutation_id: int) -> MutationRecord | None:
        """Return one row, or None."""
        with self._reading():
            row = self._connection.execute("SELECT 1 FROM mutations WHERE id = ?", (mutation_id,)).fetchone()
            return None if row is None else self._load(mutation_id)

    def settle(self, mutation_id: int, event: Event, outcome: Json, remote_id: str | None = None) -> MutationRecord:
        """Carry out the person's verdict on a write that no living broker works on.

        Raises:
            InvalidArgument: there is no such row, or a broker still works on it.
            WrongTransition: a row in that state is not the person's to settle.
            ClaimTaken: another write has `remote_id`.
        """
        with self._writing():
            row = self._connection.execute("SELECT 1 FROM mutations WHERE id = ?", (mutation_id,)).fetchone()
            if row is None:
                raise InvalidArgument(
                    f"The journal has no row {mutation_id}.", hint="See `notebook-gateway journal list`."
                )
            record = self._load(mutation_id)
            if record.owner not in ("", self._owner) and self._is_alive(record.owner):
                raise InvalidArgument(
                    f"Row {mutation_id} is being carried out by another process.", hint="Wait for it to end."
                )
            if record.state is State.SENT:
                record = self._move(record, Event.LOSE)
            record = self._move(record, event)
            self._claim(record, remote_id)
            self._settle(record, "result" if record.state is State.CONFIRMED else "error", outcome)
            return self._load(record.id)

    def prune(self, now_ms: int | None = None) -> int:
        """Forget settled writes older than `KEEP_SETTLED_DAYS`; unknown ones stay until they are settled."""
        before_ms = (_now_ms() if now_ms is None else now_ms) - KEEP_SETTLED_DAYS * _DAY_MS
        with self._writing():
            return self._connection.execute(
                "DELETE FROM mutations WHERE id IN (SELECT id FROM mutations"
                " WHERE state IN ('confirmed', 'rejected') AND updated_at_ms < ? LIMIT ?)",
                (before_ms, PRUNE_AT_MOST),
            ).rowcount

    # ------------------------------------------------------------------------------------------------ inside
    @contextmanager
    def _writing(self) -> Generator[None]:
        with self._transaction("IMMEDIATE"):
            yield

    @contextmanager
    def _reading(self) -> Generator[None]:
        # One snapshot, so that a row's steps are those of its state.
        with self._transaction("DEFERRED"):
            yield

    @contextmanager
    def _transaction(self, kind: str) -> Generator[None]:
        with translated(self._path):
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _load(self, mutation_id: int) -> MutationRecord:
        row = self._connection.execute(f"SELECT {COLUMNS} FROM mutations WHERE id = ?", (mutation_id,)).fetchone()  # noqa: S608  # fixed text
        steps = self._connection.execute(
            "SELECT name, state, facts FROM steps WHERE mutation_id = ? ORDER BY updated_at_ms, name", (mutation_id,)
        )
        claims = self._connection.execute("SELECT remote_id FROM claims WHERE mutation_id = ?", (mutation_id,))
        return record_from(row, steps, claims)

    def _move(self, record: MutationRecord, event: Event) -> MutationRecord:
        state = next_state(record.state, event)
        self._connection.execute(
            "UPDATE mutations SET state = ?, updated_at_ms = ? WHERE id = ?", (state, _now_ms(), record.id)
        )
        return self._load(record.id)

    def _put_step(self, mutation_id: int, step: str, state: State, facts: Json) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO steps (mutation_id, name, state, facts, updated_at_ms) VALUES (?, ?, ?, ?, ?)",
            (mutation_id, step, state, to_json(facts), _now_ms()),
        )

    def _settle(self, record: MutationRecord, column: str, outcome: Json) -> None:
        # An error is kept until a result takes its place.
        error = "error = NULL, " if column == "result" else ""
        self._connection.execute(
            f"UPDATE mutations SET {error}{column} = ?, owner = '' WHERE id = ?",  # noqa: S608  # fixed texts
            (to_json(outcome), record.id),
        )
        self._drop_leases(record.id)
        if record.state in SETTLED:
            # The lists from before sending have done their work, and are the bulk of the file.
            self._connection.execute(
                "UPDATE steps SET facts = json_remove(facts, '$.before') WHERE mutation_id = ?", (record.id,)
            )

    def _claim(self, record: MutationRecord, remote_id: str | None) -> None:
        if remote_id is None or remote_id in record.claims:
            return
        try:
            self._connection.execute(
                "INSERT INTO claims (account, remote_id, mutation_id) VALUES (?, ?, ?)",
                (record.account, remote_id, record.id),
            )
        except sqlite3.IntegrityError as error:
            raise ClaimTaken(f"{remote_id} belongs to another write") from error

    def _drop_leases(self, mutation_id: int) -> None:
        self._connection.execute("DELETE FROM leases WHERE mutation_id = ?", (mutation_id,))


def _refuse_newer_file(path: Path) -> None:
    """Check the version through a connection of its own: one that may write moves the log into the file when it closes,
    and a newer build's file must stay as it is (C-024)."""
    with closing(
        sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_TIMEOUT_S, uri=True)
    ) as connection:
        refuse_newer(connection)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
