"""Only a live note of this notebook can be deleted, once per key (C-072, C-074). Asking is in `test_elicitation`."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import define

from broker.catalog import CALL_TIMEOUT_S
from broker.companion import RpcReply
from broker.confirmation import CONFIRM_WITHIN_S
from broker.tools import TOOLS
from broker.tools.delete_note import TOOL
from harness.emulator.seed import LIGHTHOUSE_ID, TRAMS_ID
from tests.broker.session_helpers import Bench, Browser, open_bench
from tests.broker.tools.note_seeds import add_notes
from tests.shared import case_input

NOTE_ID = "1a9e7e00-0001-4e00-8b00-000000000001"
STUB_ID = "1a9e7e00-0001-4e00-8b00-000000000002"
MIND_MAP_ID = "1a9e7e00-0001-4e00-8b00-000000000003"
SAVED_ANSWER_ID = "1a9e7e00-0001-4e00-8b00-000000000004"
SOURCE_ID = "50a2ce00-0001-4a00-8b00-000000000001"
UNKNOWN_ID = "1a9e7e00-0001-4e00-8b00-00000000ffff"


async def select(bench: Bench) -> None:
    await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID, "save_for_project": False})


def delete(note_id: object, key: str = "k") -> dict[str, object]:
    return {"note_id": note_id, "idempotency_key": key}


def is_deleted(bench: Bench, note_id: str) -> bool:
    notebook = bench.browser.state.notebook_for(LIGHTHOUSE_ID, bench.browser.account)
    return next(note for note in notebook.notes if note.id == note_id).deleted


@pytest.mark.parametrize("note_id", [NOTE_ID, SAVED_ANSWER_ID, NOTE_ID.upper()], ids=["note", "answer", "upper case"])
async def test_a_note_is_deleted_and_gone_from_the_list(tmp_path: Path, note_id: str):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        result = await bench.result("delete_note", delete(note_id))
        assert result == {
            "status": "deleted",
            "notebook_id": LIGHTHOUSE_ID,
            "note_id": note_id.lower(),
            "replayed": False,
        }
        assert is_deleted(bench, note_id.lower())
        listed = await bench.result("list_notes")
        assert note_id.lower() not in [row["id"] for row in listed["notes"]]


async def test_the_same_key_returns_the_stored_result_and_sends_once(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        first = await bench.result("delete_note", delete(NOTE_ID))
        again = await bench.result("delete_note", delete(NOTE_ID))
        assert again == {**first, "replayed": True}
        assert bench.browser.calls.count("AH0mwd") == 1


async def test_c072_a_source_is_no_note_and_nothing_that_could_delete_it_is_sent(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        sources = (await bench.result("list_sources"))["sources"]
        assert sources[0]["id"] == SOURCE_ID
        error = await bench.error("delete_note", delete(SOURCE_ID))
        assert error["code"] == "NOT_FOUND"
        assert "list_notes" in error["hint"]
        assert not {"AH0mwd", "tGMBJ"} & set(bench.browser.calls)
        assert (await bench.result("list_sources"))["sources"] == sources


@pytest.mark.parametrize(
    ("note_id", "said"),
    [(STUB_ID, "deleted already"), (MIND_MAP_ID, "mind map"), (UNKNOWN_ID, "no note")],
    ids=["stub", "mind map", "unknown"],
)
async def test_c074_what_is_no_live_note_is_not_found(tmp_path: Path, note_id: str, said: str):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        error = await bench.error("delete_note", delete(note_id))
        assert error["code"] == "NOT_FOUND"
        assert said in error["message"]
        assert "AH0mwd" not in bench.browser.calls


async def test_a_refused_id_uses_no_key_up(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        await bench.error("delete_note", delete(UNKNOWN_ID))
        assert (await bench.result("delete_note", delete(NOTE_ID)))["status"] == "deleted"


async def test_a_note_of_another_notebook_is_not_found(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        [note_id] = add_notes(bench, TRAMS_ID, ["Not yours."])
        await select(bench)
        assert (await bench.error("delete_note", delete(note_id)))["code"] == "NOT_FOUND"
        assert "AH0mwd" not in bench.browser.calls


@define(eq=False)
class MixedBrowser(Browser):
    """Answers the question for notes as in the case's file."""

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        real = await Browser.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )
        return RpcReply(200, case_input("C-074-notes-mixed.txt").read_text()) if rpc_id == "cFji9" else real


async def test_c074_the_recorded_stub_is_not_found(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, make_browser=MixedBrowser) as bench:
        await select(bench)
        error = await bench.error("delete_note", delete("40000000-0002-4000-8000-000000000002"))
        assert (error["code"], "deleted already" in error["message"]) == ("NOT_FOUND", True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"note_id": NOTE_ID}, "idempotency_key"),
        ({"idempotency_key": "k"}, "note_id"),
        (delete("the first one"), "note_id"),
        (delete(f"{NOTE_ID}\n"), "note_id"),
        (delete([NOTE_ID]), "note_id"),
        (delete(NOTE_ID, ""), "idempotency_key"),
        (delete(NOTE_ID, "k" * 201), "idempotency_key"),
        ({**delete(NOTE_ID), "confirm": True}, "confirm"),
    ],
)
async def test_wrong_arguments_name_the_field_and_send_nothing(
    tmp_path: Path, arguments: dict[str, object], named: str
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        before = len(bench.browser.calls)
        error = await bench.error("delete_note", arguments)
        assert error["code"] == "INVALID_ARGUMENT"
        assert named in error["message"]
        assert len(bench.browser.calls) == before


async def test_nothing_is_read_or_written_before_a_notebook_is_selected(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        assert (await bench.error("delete_note", delete(NOTE_ID)))["code"] == "SESSION_UNLOCKED"
        assert bench.browser.calls == []


def test_only_deleting_is_destructive_and_only_it_may_wait_for_a_person():
    assert [tool.name for tool in TOOLS if tool.hints.destructive] == ["delete_note"]
    assert TOOL.hints.idempotent
    assert TOOL.timeout_s >= CONFIRM_WITHIN_S + 2 * CALL_TIMEOUT_S
    assert all(tool.timeout_s <= 60.0 for tool in TOOLS if tool is not TOOL)
