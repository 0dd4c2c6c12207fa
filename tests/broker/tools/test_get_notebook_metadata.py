from __future__ import annotations

from pathlib import Path

import pytest

from broker.companion import RpcReply
from broker.fake_companion import status_body
from harness.emulator.seed import EMPTY_PLAN_ID, LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, SOURDOUGH_ID, TRAMS_ID
from tests.broker.session_helpers import open_bench


async def test_the_locked_notebook_is_described(tmp_path: Path):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        assert (await bench.error("get_notebook_metadata"))["code"] == "SESSION_UNLOCKED"
        await bench.result("select_notebook", {"notebook_id": SOURDOUGH_ID})
        result = await bench.result("get_notebook_metadata")
        assert result["notebook"]["title"] == "Sourdough field notes"
        assert result["notebook"]["source_count"] == 4
        assert result["notebook"]["sources_by_state"] == {"ready": 1, "processing": 1, "failed": 1, "preparing": 1}
        assert result["notebook_id_overridden"] is False


@pytest.mark.parametrize(
    ("asked_for", "overridden"),
    [(LIGHTHOUSE_ID, False), (LIGHTHOUSE_ID.upper(), False), (TRAMS_ID, True), ("anything", True), ("", True)],
)
async def test_a_foreign_id_is_overwritten_and_the_result_says_so(tmp_path: Path, asked_for: str, overridden: bool):
    async with open_bench(tmp_path, LIGHTHOUSE_ID, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        result = await bench.result("get_notebook_metadata", {"notebook_id": asked_for})
        assert result["notebook"]["id"] == LIGHTHOUSE_ID
        assert result["notebook"]["title"] == LIGHTHOUSE_TITLE
        assert result["notebook_id_overridden"] is overridden


async def test_an_empty_notebook_has_no_sources(tmp_path: Path):
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID})
        result = await bench.result("get_notebook_metadata")
        assert result["notebook"]["source_count"] == 0
        assert result["notebook"]["sources_by_state"] == {}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (3, "INVALID_ARGUMENT", False),
        (5, "NOT_FOUND", False),
        (8, "RATE_LIMITED", True),
        (14, "UPSTREAM_REJECTED", True),
    ],
)
async def test_c056_a_status_keeps_its_number_and_meaning(
    tmp_path: Path, status: int, code: str, retryable: bool, monkeypatch: pytest.MonkeyPatch
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})

        async def refuse(*args: object, **kwargs: object) -> RpcReply:
            return RpcReply(200, status_body("rLM1Ne", status))

        monkeypatch.setattr(type(bench.browser), "rpc", refuse)
        error = await bench.error("get_notebook_metadata")
        assert (error["code"], error["retryable"]) == (code, retryable)
        assert str(status) in error["message"]


async def test_a_permission_taken_back_counts_at_once(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        bench.forbid(LIGHTHOUSE_ID)
        assert (await bench.error("get_notebook_metadata"))["code"] == "ALLOWLIST_DENIED"
        bench.allow(LIGHTHOUSE_ID)
        await bench.result("get_notebook_metadata")
