"""Notes are written once and whole, against the emulator's own state (C-072 to C-074)."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from attrs import define, field

from broker.companion import RpcReply
from broker.errors import AllowlistDenied, CompanionOffline, GatewayError, UpstreamRejected
from harness.emulator.seed import EMPTY_PLAN_ID
from tests.broker.session_helpers import Bench, Browser, open_bench

NOTE = {"title": "Tides", "content": "High water at *six*.", "idempotency_key": "k"}


@define(eq=False)
class LossyBrowser(Browser):
    """Loses the answers of some requests: RPC id → errors, one per request; None lets it pass."""

    before: dict[str, list[GatewayError | None]] = field(factory=dict[str, list[GatewayError | None]])
    """Raised instead of sending."""
    after: dict[str, list[GatewayError | None]] = field(factory=dict[str, list[GatewayError | None]])
    """Raised after the service has carried it out."""

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        _raise_next(self.before, rpc_id)
        reply = await Browser.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )
        _raise_next(self.after, rpc_id)
        return reply


def _raise_next(errors: dict[str, list[GatewayError | None]], rpc_id: str) -> None:
    waiting = errors.get(rpc_id)
    error = waiting.pop(0) if waiting else None
    if error is not None:
        raise error


async def select(bench: Bench) -> None:
    await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})


def notes(bench: Bench) -> list[tuple[str, str]]:
    """Title and text of the live notes as the service has them."""
    notebook = bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account)
    return [(note.title, note.text) for note in notebook.notes if not note.deleted]


def lose(bench: Bench, **errors: dict[str, list[GatewayError | None]]) -> None:
    for when, by_rpc_id in errors.items():
        setattr(bench.browser, when, by_rpc_id)


def sent(bench: Bench, rpc_id: str) -> int:
    return bench.browser.calls.count(rpc_id)


async def test_a_note_is_created_filled_and_replayed(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await select(bench)
        first = await bench.result("create_note", NOTE)
        again = await bench.result("create_note", NOTE)
        assert notes(bench) == [("Tides", "High water at *six*.")]
        assert first["status"] == "created"
        assert (first["replayed"], again["replayed"]) == (False, True)
        assert first["note_id"] == again["note_id"]
        assert sent(bench, "CYK0Xb") == sent(bench, "cYAfTb") == 1


@pytest.mark.parametrize(
    "lost",
    [
        CompanionOffline("The connection was reset."),
        UpstreamRejected("Status 13.", retryable=True),
        UpstreamRejected("HTTP 400", definite=True),
    ],
    ids=["reset", "status-13", "http-400"],
)
async def test_c073_when_the_text_does_not_arrive_the_repeat_finishes_the_same_note(
    tmp_path: Path, lost: GatewayError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, before={"cYAfTb": [lost]})
        error = await bench.error("create_note", NOTE)
        assert error["code"] == "MUTATION_UNKNOWN"
        assert "text may be missing" in error["message"]
        assert notes(bench) == [("New Note", "")]
        result = await bench.result("create_note", NOTE)
        assert result["note_id"] == error["details"]["note_id"]
        assert notes(bench) == [("Tides", "High water at *six*.")]
        assert sent(bench, "CYK0Xb") == 1


async def test_c028_two_identical_calls_at_once_make_one_note(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench, trio.open_nursery() as nursery:
        await select(bench)
        results: list[dict[str, object]] = []

        async def create() -> None:
            results.append(await bench.result("create_note", NOTE))

        for _ in range(2):
            nursery.start_soon(create)
    assert results[0]["note_id"] == results[1]["note_id"]
    assert len(notes(bench)) == 1


async def test_c073_a_lost_answer_to_the_first_request_is_found_by_looking(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, after={"CYK0Xb": [CompanionOffline("The connection was reset.")]})
        result = await bench.result("create_note", NOTE)
        assert result["status"] == "created"
        assert notes(bench) == [("Tides", "High water at *six*.")]
        assert sent(bench, "CYK0Xb") == 1


async def test_a_lost_answer_to_the_second_request_is_found_by_looking(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, after={"cYAfTb": [CompanionOffline("The connection was reset.")]})
        assert (await bench.result("create_note", NOTE))["status"] == "created"
        assert sent(bench, "cYAfTb") == 1


async def test_a_half_made_note_that_the_person_edited_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, before={"cYAfTb": [CompanionOffline("The connection was reset.")]})
        await bench.error("create_note", NOTE)
        (note,) = bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account).notes
        note.text = "My own words."
        error = await bench.error("create_note", NOTE)
        assert error["code"] == "MUTATION_UNKNOWN"
        assert "changed or deleted" in error["message"]
        assert notes(bench) == [("New Note", "My own words.")]


async def test_c025_a_lost_creation_is_never_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, before={"CYK0Xb": [CompanionOffline("The connection was reset.")]})
        for _ in range(3):
            assert (await bench.error("create_note", NOTE))["code"] == "MUTATION_UNKNOWN"
        assert sent(bench, "CYK0Xb") == 0
        assert notes(bench) == []


async def test_same_key_for_another_note_is_refused(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await select(bench)
        await bench.result("create_note", NOTE)
        error = await bench.error("create_note", {**NOTE, "title": "Ebb"})
        assert error["code"] == "INVALID_ARGUMENT"
        assert "idempotency_key" in error["message"]
        assert len(notes(bench)) == 1


async def test_nothing_is_written_before_a_notebook_is_selected(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        assert (await bench.error("create_note", NOTE))["code"] == "SESSION_UNLOCKED"
        assert not (bench.home / "journal.sqlite").exists()


async def test_c024_a_journal_of_a_newer_build_refuses_writes_and_leaves_reading(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        with closing(sqlite3.connect(bench.home / "journal.sqlite")) as newer:
            newer.execute("CREATE TABLE mutations (id INTEGER, unheard_of TEXT)")
            newer.execute("PRAGMA user_version = 99")
        before = (bench.home / "journal.sqlite").read_bytes()
        await select(bench)
        assert (await bench.result("list_notebooks", {}))["total_count"] == 1
        error = await bench.error("create_note", NOTE)
        assert error["code"] == "VERSION_SKEW"
        assert "99" in error["message"]
        assert sent(bench, "CYK0Xb") == 0
        assert (bench.home / "journal.sqlite").read_bytes() == before


def forgotten() -> AllowlistDenied:
    """What the extension says of an id after it was reloaded: the notebook has not been read since."""
    return AllowlistDenied("unknown", details={"side": "extension", "reason": "unknown_id"}, started=False)


async def delete_first_note(
    bench: Bench, refusals: list[GatewayError | None]
) -> Callable[[], Awaitable[dict[str, Any]]]:
    await select(bench)
    created = await bench.result("create_note", NOTE)
    lose(bench, before={"AH0mwd": refusals})
    return partial(bench.call, "delete_note", {"note_id": created["note_id"], "idempotency_key": "d"})


async def test_a_note_whose_id_the_extension_forgot_is_listed_again_and_deleted_once(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        delete = await delete_first_note(bench, [forgotten()])
        assert (await delete())["ok"] is True
        assert sent(bench, "AH0mwd") == 1
        assert notes(bench) == []


async def test_an_id_that_stays_forgotten_is_told_and_the_key_is_as_good_as_new(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        delete = await delete_first_note(bench, [forgotten(), forgotten()])
        assert (await delete())["error"]["code"] == "ALLOWLIST_DENIED"
        assert len(notes(bench)) == 1
        assert (await delete())["ok"] is True
        assert notes(bench) == []


async def test_a_deletion_that_the_extension_denies_is_rejected_for_good(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        denied = AllowlistDenied("denied", details={"side": "extension"}, started=False)
        delete = await delete_first_note(bench, [denied])
        for _ in range(2):
            assert (await delete())["error"]["details"]["mutation"] == "rejected"
        assert len(notes(bench)) == 1
