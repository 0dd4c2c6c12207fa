"""`create_note` as an agent sees it; how it is carried out is in `tests/broker/test_note_writing.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.emulator.seed import EMPTY_PLAN_ID
from tests.broker.session_helpers import open_bench

NOTE = {"title": "Tides", "content": "High water.", "idempotency_key": "k"}


async def test_the_result_names_note_notebook_and_title(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
        result = await bench.result("create_note", NOTE)
        assert result["status"] == "created"
        assert result["notebook_id"] == EMPTY_PLAN_ID
        assert result["title"] == "Tides"
        notes = await bench.result("list_notes", {})
        assert [note["id"] for note in notes["notes"]] == [result["note_id"]]


@pytest.mark.parametrize("name", NOTE)
async def test_every_argument_is_needed(tmp_path: Path, name: str) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        error = await bench.error("create_note", {key: value for key, value in NOTE.items() if key != name})
        assert error["code"] == "INVALID_ARGUMENT"
        assert name in error["message"]
