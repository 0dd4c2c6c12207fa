from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from broker.project_file import FILE_NAME
from harness.emulator.seed import (
    AMBIGUOUS_TITLE,
    EMPTY_PLAN_ID,
    FESTIVAL_ID,
    GARDEN_PLAN_ID,
    LIGHTHOUSE_ID,
    LIGHTHOUSE_TITLE,
    TRAMS_ID,
)
from tests.broker.session_helpers import Bench, open_bench

ABSENT_ID = "1a9e7e00-0099-4a00-8b00-000000000099"


def project_file(bench: Bench) -> Path:
    return bench.folder / FILE_NAME


@pytest.mark.parametrize(
    "arguments", [{"notebook_id": LIGHTHOUSE_ID}, {"notebook_id": LIGHTHOUSE_ID.upper()}, {"title": LIGHTHOUSE_TITLE}]
)
async def test_a_notebook_is_selected_by_id_or_exact_title_and_saved(tmp_path: Path, arguments: dict[str, object]):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        result = await bench.result("select_notebook", arguments)
        assert result["notebook"]["id"] == LIGHTHOUSE_ID
        assert result["notebook"]["title"] == LIGHTHOUSE_TITLE
        assert result["already_selected"] is False
        assert result["project_file"] == {"saved": True, "path": str(project_file(bench))}
        assert json.loads(project_file(bench).read_text()) == {
            "notebook_id": LIGHTHOUSE_ID,
            "title": LIGHTHOUSE_TITLE,
        }


async def test_selecting_again_succeeds_and_another_one_is_refused(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        for again in ({"notebook_id": LIGHTHOUSE_ID}, {"title": LIGHTHOUSE_TITLE}):
            assert (await bench.result("select_notebook", again))["already_selected"] is True
        for other in ({"notebook_id": TRAMS_ID}, {"title": "Tram timetable study"}, {"title": "nothing"}):
            error = await bench.error("select_notebook", other)
            assert error["code"] == "SESSION_LOCKED"
            assert LIGHTHOUSE_TITLE in error["message"]


async def test_nothing_is_saved_on_request_or_outside_of_a_project(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        arguments = {"notebook_id": LIGHTHOUSE_ID, "save_for_project": False}
        assert (await bench.result("select_notebook", arguments))["project_file"]["saved"] is False
        assert not project_file(bench).exists()
        (bench.folder / ".git").rmdir()
        result = await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        assert "project marker" in result["project_file"]["reason"]
        assert not project_file(bench).exists()


async def test_c017_of_two_notebooks_with_one_title_none_is_picked(tmp_path: Path):
    async with open_bench(tmp_path, EMPTY_PLAN_ID, GARDEN_PLAN_ID) as bench:
        error = await bench.error("select_notebook", {"title": AMBIGUOUS_TITLE})
        assert error["code"] == "INVALID_ARGUMENT"
        candidates = {each["notebook_id"]: each["title"] for each in error["details"]["candidates"]}
        assert candidates == {EMPTY_PLAN_ID: AMBIGUOUS_TITLE, GARDEN_PLAN_ID: AMBIGUOUS_TITLE}
        assert (await bench.error("select_notebook", {"title": "Pla"}))["code"] == "NOT_FOUND"
        assert (await bench.result("list_notebooks"))["session"] == {"state": "DISCOVERY_ONLY"}
        assert not project_file(bench).exists()


async def test_c017_a_title_is_ambiguous_only_among_allowed_notebooks(tmp_path: Path):
    async with open_bench(tmp_path, GARDEN_PLAN_ID) as bench:
        assert (await bench.result("select_notebook", {"title": AMBIGUOUS_TITLE}))["notebook"]["id"] == GARDEN_PLAN_ID


@pytest.mark.parametrize("title", ["", "   ", "\u00a0"])
async def test_c018_a_blank_title_identifies_nothing(tmp_path: Path, title: str):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        bench.browser.state.notebooks[0].title = title
        error = await bench.error("select_notebook", {"title": title})
        assert error["code"] == "INVALID_ARGUMENT"
        assert "title" in error["message"]
        assert bench.session.lock.notebook is None
        rows = (await bench.result("list_notebooks"))["notebooks"]
        assert [row["title"] for row in rows] == [title]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "exactly one"),
        ({"notebook_id": LIGHTHOUSE_ID, "title": AMBIGUOUS_TITLE}, "exactly one"),
        ({"notebook_id": None, "title": AMBIGUOUS_TITLE}, "notebook_id must be a string, not null"),
        ({"notebook_id": None, "title": None}, "notebook_id"),
        ({"notebook_id": ""}, "notebook_id"),
        ({"notebook_id": "None"}, "notebook_id"),
        ({"notebook_id": 5}, "notebook_id"),
        ({"title": LIGHTHOUSE_TITLE, "save_for_project": "yes"}, "save_for_project"),
        ({"notebookId": LIGHTHOUSE_ID}, "notebookId"),
    ],
)
async def test_c019_wrong_selectors_name_the_field_and_lock_nothing(
    tmp_path: Path, arguments: dict[str, object], named: str
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        error = await bench.error("select_notebook", arguments)
        assert error["code"] == "INVALID_ARGUMENT"
        assert named in error["message"]
        assert bench.session.lock.notebook is None
        assert bench.browser.calls == []


async def test_c020_an_id_outside_the_allowlist_is_never_selectable(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        error = await bench.error("select_notebook", {"notebook_id": TRAMS_ID})
        assert error["code"] == "ALLOWLIST_DENIED"
        assert error["details"] == {"side": "broker"}
        assert f"allow add {TRAMS_ID}" in error["hint"]
        assert bench.browser.calls == []


async def test_the_side_that_denies_is_named(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        bench.browser.notebooks = [LIGHTHOUSE_ID]
        error = await bench.error("select_notebook", {"notebook_id": TRAMS_ID})
        assert error["code"] == "ALLOWLIST_DENIED"
        assert error["details"] == {"side": "extension"}
        assert "rLM1Ne" not in bench.browser.calls


async def test_c021_a_notebook_that_the_list_lacks_is_selected_by_a_direct_read(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, ABSENT_ID) as bench:
        assert (await bench.error("select_notebook", {"notebook_id": ABSENT_ID}))["code"] == "NOT_FOUND"
        assert "rLM1Ne" in bench.browser.calls
        result = await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        assert "wXbhsf" not in bench.browser.calls
        assert result["notebook"]["title"] == LIGHTHOUSE_TITLE


async def test_a_title_is_found_among_shared_notebooks_too(tmp_path: Path):
    async with open_bench(tmp_path, FESTIVAL_ID) as bench:
        result = await bench.result("select_notebook", {"title": "Harbour festival"})
        assert result["notebook"]["role"] == "viewer"


async def test_two_agents_that_select_at_once_do_not_mix(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        outcomes: list[bool] = []

        async def select(notebook_id: str) -> None:
            outcomes.append((await bench.call("select_notebook", {"notebook_id": notebook_id}))["ok"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(select, LIGHTHOUSE_ID)
            nursery.start_soon(select, TRAMS_ID)
        assert sorted(outcomes) == [False, True]
        locked = bench.session.lock.require_notebook()
        assert json.loads(project_file(bench).read_text())["notebook_id"] == locked.id
