from __future__ import annotations

from pathlib import Path

import pytest

from broker.cursor import RowKey, encode_cursor
from harness.emulator.seed import EMPTY_PLAN_ID, LIGHTHOUSE_ID, SOURDOUGH_ID, TRAM_STOPS, TRAMS_ID
from tests.broker.session_helpers import Bench, open_bench


async def walk(bench: Bench, page_size: int) -> list[str]:
    seen: list[str] = []
    arguments: dict[str, object] = {"page_size": page_size}
    while True:
        result = await bench.result("list_sources", arguments)
        assert result["total_count"] == TRAM_STOPS
        assert 0 < len(result["sources"]) <= page_size
        seen += [row["id"] for row in result["sources"]]
        if "next_cursor" not in result:
            return seen
        arguments["cursor"] = result["next_cursor"]


@pytest.mark.parametrize("page_size", [7, 50, 100])
async def test_c061_every_source_is_listed_once_over_the_pages(tmp_path: Path, page_size: int):
    async with open_bench(tmp_path, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": TRAMS_ID})
        seen = await walk(bench, page_size)
        assert len(seen) == len(set(seen)) == TRAM_STOPS


async def test_fifty_is_the_default_and_states_are_words(tmp_path: Path):
    async with open_bench(tmp_path, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": TRAMS_ID})
        assert len((await bench.result("list_sources"))["sources"]) == 50
    async with open_bench(tmp_path / "2", SOURDOUGH_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": SOURDOUGH_ID})
        rows = (await bench.result("list_sources"))["sources"]
        assert [row["state"] for row in rows] == ["ready", "processing", "failed", "preparing"]
        assert [row["kind"] for row in rows] == ["text", "text", "pdf", "pdf"]


async def test_an_empty_notebook_is_an_empty_page(tmp_path: Path):
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID})
        result = await bench.result("list_sources")
        assert result["sources"] == []
        assert "next_cursor" not in result


@pytest.mark.parametrize(
    "cursor",
    [
        "abc",
        "",
        "x" * 100_000,
        encode_cursor(RowKey(1, "x"), tool="list_notes", scope=LIGHTHOUSE_ID),
        encode_cursor(RowKey(1, "x"), tool="list_sources", scope=TRAMS_ID),
        7,
    ],
)
async def test_c016_a_cursor_that_is_none_of_ours_is_refused(tmp_path: Path, cursor: object):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        error = await bench.error("list_sources", {"cursor": cursor})
        assert error["code"] == "INVALID_ARGUMENT"
        assert "cursor" in error["message"]
        assert len(error["message"]) < 300


async def test_c016_a_list_that_shrank_shows_nothing_twice(tmp_path: Path):
    async with open_bench(tmp_path, TRAMS_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": TRAMS_ID})
        first = await bench.result("list_sources", {"page_size": 10})
        trams = next(each for each in bench.browser.state.notebooks if each.id == TRAMS_ID)
        del trams.sources[9]  # the last row shown
        second = await bench.result("list_sources", {"page_size": 10, "cursor": first["next_cursor"]})
        assert not {row["id"] for row in first["sources"]} & {row["id"] for row in second["sources"]}
        assert second["sources"][0]["id"].endswith("000000000011")


@pytest.mark.parametrize("arguments", [{"page_size": 0}, {"page_size": 101}, {"page_size": "50"}, {"limit": 5}])
async def test_wrong_arguments_name_the_field(tmp_path: Path, arguments: dict[str, object]):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        error = await bench.error("list_sources", arguments)
        assert error["code"] == "INVALID_ARGUMENT"
        assert next(iter(arguments)) in error["message"]


async def test_the_account_is_checked_once_before_the_first_read_and_again_after_it_may_have_changed(tmp_path: Path):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        for _ in range(3):
            await bench.result("list_sources")
        assert bench.browser.calls.count("identity") == 1
        assert bench.browser.calls[0] == "identity"
        bench.access.forget_account()
        bench.browser.account = "grace@example.com"
        assert (await bench.error("list_sources"))["code"] == "ACCOUNT_MISMATCH"
