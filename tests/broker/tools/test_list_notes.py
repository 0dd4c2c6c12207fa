"""Notes are listed whole or loudly not at all (C-016, C-059, C-074)."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from attrs import define

from broker.companion import RpcReply
from broker.cursor import RowKey, encode_cursor
from broker.fake_companion import reply_body
from broker.published import MAX_LIST_CHARS
from harness.emulator.seed import EMPTY_PLAN_ID, LIGHTHOUSE_ID, TRAMS_ID
from tests.broker.session_helpers import Bench, Browser, open_bench
from tests.broker.tools.note_seeds import SAVED_AT, add_notes
from tests.shared import case_input


@define(eq=False)
class ScriptedBrowser(Browser):
    """Answers the question for notes with this body."""

    body: str = ""

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        real = await Browser.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )
        return RpcReply(200, self.body) if rpc_id == "cFji9" else real


def scripted(bench: Bench, body: str) -> None:
    assert isinstance(bench.browser, ScriptedBrowser)
    bench.browser.body = body


async def select(bench: Bench, notebook_id: str = LIGHTHOUSE_ID) -> None:
    await bench.result("select_notebook", {"notebook_id": notebook_id, "save_for_project": False})


async def test_c074_notes_and_saved_answers_are_listed_and_stubs_and_mind_maps_are_not(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        result = await bench.result("list_notes")
        assert result["notebook_id"] == LIGHTHOUSE_ID
        assert result["total_count"] == 2
        rows = [(row["title"], row["content"], row["kind"], row["truncated"]) for row in result["notes"]]
        assert rows == [
            ("To ask Marta", "Which relief boat came? 🚤", "note", False),
            ("Why the lens stopped", "The bearing had run dry.", "saved_answer", False),
        ]
        assert result["notes"][0]["content_length"] == len("Which relief boat came? 🚤")
        assert "instructions" in result["content_note"]


async def test_c074_the_recorded_shapes_give_exactly_one_and_four(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, make_browser=ScriptedBrowser) as bench:
        await select(bench)
        scripted(bench, case_input("C-074-notes-mixed.txt").read_text())
        rows = (await bench.result("list_notes"))["notes"]
        assert [row["title"] for row in rows] == ["One", "Four"]
        assert rows[0]["updated_at"] == "2030-03-17T17:46:40Z"


async def test_c074_a_notebook_that_never_had_a_note_is_an_empty_page(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, make_browser=ScriptedBrowser) as bench:
        await select(bench)
        scripted(bench, case_input("C-074-notes-never.txt").read_text())
        result = await bench.result("list_notes")
        assert (result["notes"], result["total_count"]) == ([], 0)
        assert "next_cursor" not in result


BROKEN: list[tuple[object, str]] = [
    ([[["40000000-0001-4000-8000-000000000001", "text"]], [1]], "$[0][0][1]"),
    ([[["not an id", None, 2]], [1]], "$[0][0][0]"),
    ([{"notes": []}, [1]], "$[0]"),
    ([None], "$[1]"),
    ({}, "$"),
]


@pytest.mark.parametrize(("payload", "path"), BROKEN, ids=["row", "id", "list", "no time", "no list at all"])
async def test_an_answer_of_another_shape_is_drift_with_rpc_id_and_path(tmp_path: Path, payload: object, path: str):
    """M-05: never a shorter or an empty list."""
    async with open_bench(tmp_path, LIGHTHOUSE_ID, make_browser=ScriptedBrowser) as bench:
        await select(bench)
        scripted(bench, reply_body("cFji9", payload))
        error = await bench.error("list_notes")
        assert error["code"] == "UPSTREAM_SCHEMA_DRIFT"
        assert error["details"]["rpc_id"] == "cFji9"
        assert error["details"]["path"] == path


@pytest.mark.parametrize(("page_size", "pages"), [(7, 18), (50, 3), (100, 2)])
async def test_every_note_is_listed_once_over_the_pages(tmp_path: Path, page_size: int, pages: int):
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        ids = add_notes(bench, EMPTY_PLAN_ID, ["short"] * 120)
        await select(bench, EMPTY_PLAN_ID)
        seen = await walk(bench, page_size)
        assert sorted(chain.from_iterable(seen)) == sorted(ids)
        assert len(seen) == pages


async def walk(bench: Bench, page_size: int) -> list[list[str]]:
    """Return the ids of each page."""
    pages: list[list[str]] = []
    arguments: dict[str, object] = {"page_size": page_size}
    while True:
        result = await bench.result("list_notes", arguments)
        pages.append([row["id"] for row in result["notes"]])
        if "next_cursor" not in result:
            return pages
        arguments["cursor"] = result["next_cursor"]


async def test_an_edit_between_two_pages_hides_nothing_and_shows_nothing_twice(tmp_path: Path):
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        ids = add_notes(bench, EMPTY_PLAN_ID, ["short"] * 4)
        await select(bench, EMPTY_PLAN_ID)
        first = await bench.result("list_notes", {"page_size": 2})
        notebook = bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account)
        edited = notebook.notes[0]
        edited.text, edited.changed = "edited", (SAVED_AT[0] + 60, 0)
        second = await bench.result("list_notes", {"page_size": 2, "cursor": first["next_cursor"]})
        assert sorted(row["id"] for row in first["notes"] + second["notes"]) == sorted(ids)


async def test_long_notes_end_a_page_early_and_a_very_long_one_is_cut_visibly(tmp_path: Path):
    long, very_long = "word " * 4_000, 'he said: "🚤"\n' * 40_000
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        ids = add_notes(bench, EMPTY_PLAN_ID, [long, long, very_long, "short"])
        await select(bench, EMPTY_PLAN_ID)
        arguments: dict[str, object] = {}
        rows: list[dict[str, object]] = []
        while True:
            envelope = await bench.call("list_notes", arguments)
            result = envelope["result"]
            rows += result["notes"]
            shown = sum(len(str(row)) for row in result["notes"])
            assert shown < MAX_LIST_CHARS
            if "next_cursor" not in result:
                break
            arguments["cursor"] = result["next_cursor"]
        assert sorted(str(row["id"]) for row in rows) == sorted(ids)
        cut = next(row for row in rows if row["truncated"])
        assert cut["content_length"] == len(very_long)
        assert very_long.startswith(str(cut["content"]))
        assert [row["truncated"] for row in rows].count(True) == 1


@pytest.mark.parametrize(
    "cursor",
    [
        "abc",
        "",
        "x" * 100_000,
        encode_cursor(RowKey(0, "x"), tool="list_sources", scope=LIGHTHOUSE_ID),
        encode_cursor(RowKey(0, "x"), tool="list_notes", scope=TRAMS_ID),
        7,
    ],
)
async def test_c016_a_cursor_that_is_none_of_ours_is_refused(tmp_path: Path, cursor: object):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        error = await bench.error("list_notes", {"cursor": cursor})
        assert error["code"] == "INVALID_ARGUMENT"
        assert "cursor" in error["message"]


async def test_c016_a_real_cursor_of_this_tool_is_refused_by_list_sources(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        cursor = (await bench.result("list_notes", {"page_size": 1}))["next_cursor"]
        error = await bench.error("list_sources", {"cursor": cursor})
        assert (error["code"], "cursor" in error["message"]) == ("INVALID_ARGUMENT", True)


async def test_nothing_is_read_before_a_notebook_is_selected(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        assert (await bench.error("list_notes"))["code"] == "SESSION_UNLOCKED"
        assert "cFji9" not in bench.browser.calls
