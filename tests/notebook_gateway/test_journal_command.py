"""`notebook-gateway journal` as a person or script runs it, on a real file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from broker.journal_rows import Request
from broker.journal_states import State
from broker.journal_store import JournalStore
from broker.process_lock import ProcessLock
from native_host.paths import journal_file, run_folder

NOTEBOOK = "1a9e7e00-0001-4a00-8b00-000000000001"
OLD, MADE, OTHER = (f"2b9e7e00-000{n}-4a00-8b00-00000000000{n}" for n in (1, 2, 3))
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"


def run(home: Path, *arguments: str, answer: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "notebook_gateway", "journal", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "NOTEBOOK_GATEWAY_HOME": str(home), "COLUMNS": "200"},
        input=answer or "",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def request(key: str, tool: str = "create_note") -> Request:
    return Request("ada@example.com", tool, key, NOTEBOOK, "hash", f"print-{key}", TRACEPARENT)


@pytest.fixture
def store(tmp_path: Path) -> Generator[JournalStore]:
    """The journal of a broker that is no longer alive."""
    with closing(JournalStore(journal_file(tmp_path), "dead", lambda owner: False)) as store:
        yield store


def lost(store: JournalStore, key: str = "lost", tool: str = "create_note", step: str = "create") -> int:
    """A write whose answer never came."""
    row = store.begin(request(key, tool)).record.id
    store.mark_sent(row, step, {"remote_id": MADE} if step == "delete" else {"before": [OLD]})
    store.lose(row, {"code": "MUTATION_UNKNOWN", "message": "it is not in the notebook", "retryable": False})
    return row


def half_done(store: JournalStore, key: str = "half", tool: str = "create_note") -> int:
    """A write whose first step is proven and whose second one is not."""
    first, second = ("create", "fill") if tool == "create_note" else ("register", "upload")
    row = store.begin(request(key, tool)).record.id
    store.mark_sent(row, first, {"before": [OLD]})
    store.prove_step(row, first, {"remote_id": MADE}, MADE)
    store.mark_sent(row, second, {"remote_id": MADE, "upload": "up-0123456789abcdef0123456789abcdef"})
    store.lose(row, {"code": "MUTATION_UNKNOWN", "message": "its text may be missing", "retryable": False})
    return row


def done(store: JournalStore, key: str = "done", made: str = OTHER) -> int:
    row = store.begin(request(key)).record.id
    store.mark_sent(row, "create", {"before": [OLD]})
    store.prove_step(row, "create", {"remote_id": made}, made)
    store.confirm(row, {"status": "created", "note_id": made, "title": "Ein [bold]Titel"})
    return row


# ---------------------------------------------------------------------------------------------------- looking
def test_looking_at_no_journal_shows_nothing_and_makes_none(tmp_path: Path) -> None:
    assert run(tmp_path, "list").returncode == 0
    assert json.loads(run(tmp_path, "list", "--json").stdout) == []
    assert run(tmp_path, "export").stdout == ""
    outcome = run(tmp_path, "show", "1")
    assert (outcome.returncode, "no row 1" in outcome.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_the_list_shows_newest_first_and_says_what_to_do_with_unknown_rows(tmp_path: Path, store: JournalStore) -> None:
    first, second = done(store), lost(store)
    outcome = run(tmp_path, "list")
    assert outcome.stdout.index("unknown") < outcome.stdout.index("confirmed")
    assert "Ein [bold]Titel" in outcome.stdout
    assert "journal settle" in outcome.stdout
    assert [row["id"] for row in json.loads(run(tmp_path, "list", "--json").stdout)] == [second, first]


def test_the_list_is_narrowed_by_state_and_limit(tmp_path: Path, store: JournalStore) -> None:
    first, second, third = done(store), lost(store), lost(store, "lost 2")
    unknown = json.loads(run(tmp_path, "list", "--state", "unknown", "--json").stdout)
    assert [row["id"] for row in unknown] == [third, second]
    assert [row["id"] for row in json.loads(run(tmp_path, "list", "--limit", "1", "--json").stdout)] == [third]
    only_done = run(tmp_path, "list", "--state", "confirmed").stdout
    assert str(first) in only_done
    assert "journal settle" not in only_done


def test_one_row_is_shown_with_its_steps(tmp_path: Path, store: JournalStore) -> None:
    row = half_done(store)
    text = run(tmp_path, "show", str(row)).stdout
    for word in ("unknown", "create_note", "half", NOTEBOOK, MADE, "its text may be missing", TRACE_ID):
        assert word in text, word
    shown = json.loads(run(tmp_path, "show", str(row), "--json").stdout)
    assert shown["state"] == "unknown"
    assert shown["trace_id"] == TRACE_ID
    assert [(step["name"], step["state"]) for step in shown["steps"]] == [("create", "confirmed"), ("fill", "sent")]
    assert shown["remote_ids"] == [MADE]


def test_the_export_has_every_row_and_no_upload_handle(tmp_path: Path, store: JournalStore) -> None:
    rows = [done(store), half_done(store, tool="add_source"), lost(store, "SAPISID=abcdefgh12345678")]
    text = run(tmp_path, "export").stdout
    assert [json.loads(line)["id"] for line in text.splitlines()] == rows[::-1]
    assert "up-0123" not in text
    assert "abcdefgh12345678" not in text
    target = tmp_path / "rows.jsonl"
    assert run(tmp_path, "export", "--output", str(target)).returncode == 0
    assert target.read_text() == text
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_export_into_nowhere_is_one_sentence(tmp_path: Path, store: JournalStore) -> None:
    done(store)
    outcome = run(tmp_path, "export", "--output", str(tmp_path / "absent" / "rows.jsonl"))
    assert outcome.returncode == 1
    assert "cannot be written" in outcome.stderr
    assert "Traceback" not in outcome.stderr


# ---------------------------------------------------------------------------------------------------- settling
@pytest.mark.parametrize(
    ("tool", "step", "given", "stored"),
    [
        ("create_note", "create", ["--remote-id", MADE.upper()], {"status": "created", "note_id": MADE}),
        ("add_source", "add", ["--remote-id", MADE], {"status": "added", "source_id": MADE}),
        ("add_source", "register", ["--remote-id", MADE], {"status": "added", "source_id": MADE}),
        ("delete_note", "delete", [], {"status": "deleted", "note_id": MADE}),
    ],
)
def test_a_lost_write_settled_as_done_stores_what_its_tool_would_have(
    tmp_path: Path, store: JournalStore, tool: str, step: str, given: list[str], stored: dict[str, object]
) -> None:
    row = lost(store, tool=tool, step=step)
    outcome = run(tmp_path, "settle", str(row), "--as", "done", "--yes", *given)
    assert outcome.returncode == 0, outcome.stderr
    record = store.maybe_record(row)
    assert record is not None
    assert (record.state, record.result, record.error) == (State.CONFIRMED, stored, None)
    assert record.claims == (() if tool == "delete_note" else (MADE,))


@pytest.mark.parametrize(("tool", "field"), [("create_note", "note_id"), ("add_source", "source_id")])
def test_a_half_done_write_settled_as_done_needs_no_id(
    tmp_path: Path, store: JournalStore, tool: str, field: str
) -> None:
    row = half_done(store, tool=tool)
    assert run(tmp_path, "settle", str(row), "--as", "done", "--yes").returncode == 0
    record = store.maybe_record(row)
    assert record is not None
    assert record.result is not None
    assert record.result[field] == MADE


def test_a_write_settled_as_not_done_stores_an_error_that_a_repeat_gets(tmp_path: Path, store: JournalStore) -> None:
    row = lost(store)
    assert run(tmp_path, "settle", str(row), "--as", "not-done", "--yes").returncode == 0
    record = store.maybe_record(row)
    assert record is not None
    assert record.state is State.REJECTED
    assert record.error is not None
    assert record.error["code"] == "CANCELLED"
    assert "new idempotency_key" in str(record.error["hint"])


def test_a_row_whose_process_was_killed_under_its_request_can_be_settled(tmp_path: Path, store: JournalStore) -> None:
    row = store.begin(request("killed")).record.id
    store.mark_sent(row, "create", {"before": []})
    assert run(tmp_path, "settle", str(row), "--as", "not-done", "--yes").returncode == 0


def test_a_row_that_a_living_process_works_on_is_not_the_persons_to_settle(tmp_path: Path) -> None:
    lock = ProcessLock(run_folder(tmp_path))
    alive = JournalStore(journal_file(tmp_path), lock.owner, lambda owner: True)
    row = alive.begin(request("running")).record.id
    alive.mark_sent(row, "create", {"before": []})
    outcome = run(tmp_path, "settle", str(row), "--as", "not-done", "--yes")
    lock.close()
    assert outcome.returncode == 1
    assert "another process" in outcome.stderr
    record = alive.maybe_record(row)
    assert record is not None
    assert record.state is State.SENT
    alive.close()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "--remote-id"),
        (["--remote-id", OLD], "was in the notebook before"),
        (["--remote-id", OTHER], "belongs to another write"),
        (["--remote-id", "note 7"], "not an id"),
    ],
)
def test_a_wrong_id_is_refused_and_changes_nothing(
    tmp_path: Path, store: JournalStore, given: list[str], complaint: str
) -> None:
    done(store, made=OTHER)
    row = lost(store)
    before = store.maybe_record(row)
    outcome = run(tmp_path, "settle", str(row), "--as", "done", "--yes", *given)
    assert outcome.returncode == 1
    assert complaint in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert store.maybe_record(row) == before


def test_another_id_than_the_proven_one_is_refused(tmp_path: Path, store: JournalStore) -> None:
    row = half_done(store)
    outcome = run(tmp_path, "settle", str(row), "--as", "done", "--yes", "--remote-id", OTHER)
    assert outcome.returncode == 1
    assert MADE in outcome.stderr


@pytest.mark.parametrize("verdict", ["done", "not-done"])
def test_a_settled_row_is_final(tmp_path: Path, store: JournalStore, verdict: str) -> None:
    row = done(store)
    outcome = run(tmp_path, "settle", str(row), "--as", verdict, "--yes")
    assert outcome.returncode == 1
    assert "confirmed already" in outcome.stderr


def test_what_was_never_sent_can_only_be_given_up(tmp_path: Path, store: JournalStore) -> None:
    row = store.begin(request("prepared")).record.id
    outcome = run(tmp_path, "settle", str(row), "--as", "done", "--yes", "--remote-id", MADE)
    assert outcome.returncode == 1
    assert "nothing of it was sent" in outcome.stderr
    assert run(tmp_path, "settle", str(row), "--as", "not-done", "--yes").returncode == 0


@pytest.mark.parametrize(("answer", "settled"), [("y\n", True), ("n\n", False), ("", False)])
def test_the_person_is_asked_first(tmp_path: Path, store: JournalStore, answer: str, settled: bool) -> None:
    row = lost(store)
    outcome = run(tmp_path, "settle", str(row), "--as", "not-done", answer=answer)
    assert outcome.returncode == (0 if settled else 1)
    record = store.maybe_record(row)
    assert record is not None
    assert record.is_settled == settled


def test_an_id_does_not_belong_to_not_done(tmp_path: Path, store: JournalStore) -> None:
    outcome = run(tmp_path, "settle", str(lost(store)), "--as", "not-done", "--yes", "--remote-id", MADE)
    assert outcome.returncode == 1
    assert "--remote-id" in outcome.stderr


def test_a_journal_that_cannot_be_read_is_one_clear_sentence(tmp_path: Path) -> None:
    journal_file(tmp_path).write_bytes(b"not a database at all, but long enough to be taken for one" * 20)
    outcome = run(tmp_path, "list")
    assert outcome.returncode == 1
    assert str(journal_file(tmp_path)) in outcome.stderr
    assert "Traceback" not in outcome.stderr
