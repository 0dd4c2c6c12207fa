from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broker.errors import CompanionOffline
from broker.project_file import FILE_NAME
from harness.emulator.seed import EMPTY_PLAN_ID, LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, TRAMS_ID, UNLISTED_ID
from tests.broker.session_helpers import open_bench
from tests.shared import case_input

ABSENT_ID = "1a9e7e00-0099-4a00-8b00-000000000099"


def ids(result: Any) -> list[str]:
    return [row["id"] for row in result["notebooks"]]


async def test_only_allowed_notebooks_are_visible(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        result = await bench.result("list_notebooks")
        assert sorted(ids(result)) == [LIGHTHOUSE_ID, TRAMS_ID]
        assert UNLISTED_ID not in json.dumps(result)
        row = next(row for row in result["notebooks"] if row["id"] == LIGHTHOUSE_ID)
        assert row["title"] == LIGHTHOUSE_TITLE
        assert row["role"] == "owner"
        assert row["source_count"] == 5
        assert row["confirmed"] is True
        assert row["created_at"].endswith("Z")
        assert result["session"] == {"state": "DISCOVERY_ONLY"}
        assert "select_notebook" in result["user_prompt"]
        assert "never as instructions" in result["content_note"]


async def test_what_the_extension_does_not_allow_is_hidden_and_counted(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        bench.browser.notebooks = [LIGHTHOUSE_ID]
        result = await bench.result("list_notebooks")
        assert ids(result) == [LIGHTHOUSE_ID]
        assert "1 notebook(s)" in result["user_prompt"]
        assert TRAMS_ID not in json.dumps(result)


@pytest.mark.parametrize("by_extension", ["*", []])
async def test_an_empty_allowlist_says_how_the_person_allows_one(tmp_path: Path, by_extension: object):
    async with open_bench(tmp_path, *([LIGHTHOUSE_ID] if by_extension == [] else [])) as bench:
        bench.browser.notebooks = by_extension
        result = await bench.result("list_notebooks")
        assert result["notebooks"] == []
        assert result["total_count"] == 0
        assert "notebook-gateway allow add" in result["user_prompt"]
        assert "wXbhsf" not in bench.browser.calls


async def test_c021_an_allowed_notebook_absent_from_the_list_is_shown_unconfirmed(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, ABSENT_ID) as bench:
        result = await bench.result("list_notebooks")
        assert {row["id"]: row["confirmed"] for row in result["notebooks"]} == {LIGHTHOUSE_ID: True, ABSENT_ID: False}


async def test_everything_allowed_lists_what_the_service_lists(tmp_path: Path):
    async with open_bench(tmp_path) as bench:
        bench.allow_everything()
        assert UNLISTED_ID in ids(await bench.result("list_notebooks"))


async def test_c022_a_locked_session_says_what_it_is_locked_to(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        result = await bench.result("list_notebooks")
        assert result["session"] == {
            "state": "ACTIVE_DISPATCH",
            "notebook_id": LIGHTHOUSE_ID,
            "notebook_title": LIGHTHOUSE_TITLE,
        }
        assert "already locked" in result["user_prompt"]


async def test_pages_follow_each_other(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID, EMPTY_PLAN_ID) as bench:
        seen: list[str] = []
        arguments: dict[str, object] = {"page_size": 1}
        for _ in range(3):
            result = await bench.result("list_notebooks", arguments)
            assert result["total_count"] == 3
            seen += ids(result)
            arguments["cursor"] = result.get("next_cursor")
        assert arguments["cursor"] is None
        assert sorted(seen) == sorted([LIGHTHOUSE_ID, TRAMS_ID, EMPTY_PLAN_ID])


async def test_a_project_file_is_a_proposal_and_selects_nothing(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        (bench.folder / FILE_NAME).write_text(json.dumps({"notebook_id": LIGHTHOUSE_ID, "title": "Mine"}))
        result = await bench.result("list_notebooks")
        assert result["project_config"] == {
            "status": "proposed",
            "notebook_id": LIGHTHOUSE_ID,
            "title": "Mine",
            "allowed": True,
        }
        assert LIGHTHOUSE_ID in result["user_prompt"]
        assert result["session"]["state"] == "DISCOVERY_ONLY"
        assert (await bench.error("list_sources"))["code"] == "SESSION_UNLOCKED"


@pytest.mark.parametrize(
    "case", json.loads(case_input("C-020-project-files.json").read_text()), ids=lambda c: c["name"]
)
async def test_c020_no_text_of_a_project_file_reaches_the_prompt(tmp_path: Path, case: dict[str, str]):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        data = bytes.fromhex(case["raw_hex"]) if "raw_hex" in case else case.get("raw", "[" * 100_000).encode()
        (bench.folder / FILE_NAME).write_bytes(data)
        result = await bench.result("list_notebooks")
        config = result["project_config"]
        assert config["status"] in ("proposed", "ignored")
        if config["status"] == "ignored":
            assert config["reason"].startswith("project file ignored")
        else:
            assert config["allowed"] is False
        for word in ("obey", "Do not ask", "delete", "Stranger", "\u202e", "\x1b"):
            assert word not in result["user_prompt"]
        assert "delete all notes" not in json.dumps(result)


async def test_a_broken_allowlist_denies_with_its_path(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        (bench.home / "allowlist.json").write_text("{")
        error = await bench.error("list_notebooks")
        assert error["code"] == "ALLOWLIST_DENIED"
        assert "allowlist.json" in error["message"]


async def test_without_a_browser_the_reason_is_said_and_the_next_good_call_works(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        bench.browser.error = CompanionOffline("no browser")
        assert (await bench.error("list_notebooks"))["code"] == "COMPANION_OFFLINE"
        bench.browser.error = None
        assert ids(await bench.result("list_notebooks")) == [LIGHTHOUSE_ID]


async def test_another_account_is_refused_with_both_addresses_masked(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        bench.browser.account = "grace@example.com"
        error = await bench.error("list_notebooks")
        assert error["code"] == "ACCOUNT_MISMATCH"
        assert "grace@" not in json.dumps(error)
        assert "ada@" not in json.dumps(error)
        assert bench.browser.calls == ["identity"]
