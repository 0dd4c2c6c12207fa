"""`add_source` over the emulator's own state: which fields belong to which type, and what is told of the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.errors import InvalidArgument
from broker.tools.add_source import FIELDS, SOURCE_FIELDS, SourceArguments, require_fields
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.emulator.web import WebPage
from tests.broker.session_helpers import Bench, open_bench

VALUES = {name: f"some {name}" for name in SOURCE_FIELDS}
TEXT = {"type": "text", "title": "Tides", "content": "High water at six."}


def arguments(source_type: str, *names: str) -> SourceArguments:
    return SourceArguments(source_type, **{name: VALUES[name] for name in names})


@pytest.mark.parametrize("source_type", FIELDS)
def test_each_type_takes_what_it_needs_with_and_without_what_it_may_have(source_type: str) -> None:
    required, optional = FIELDS[source_type]
    require_fields(arguments(source_type, *required))
    require_fields(arguments(source_type, *required, *optional))


@pytest.mark.parametrize(
    ("source_type", "name"),
    [(source_type, name) for source_type, (needed, _) in FIELDS.items() for name in sorted(needed)],
)
def test_a_missing_field_is_named(source_type: str, name: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"source\.{name} is required for type {source_type}"):
        require_fields(arguments(source_type, *(FIELDS[source_type][0] - {name})))


@pytest.mark.parametrize(
    ("source_type", "name"),
    [
        (source_type, name)
        for source_type, (required, optional) in FIELDS.items()
        for name in SOURCE_FIELDS
        if name not in required | optional
    ],
)
def test_c015_a_field_of_another_type_is_named(source_type: str, name: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"source\.{name} does not belong to type {source_type}"):
        require_fields(arguments(source_type, *FIELDS[source_type][0], name))


async def add(bench: Bench, source: dict[str, str], **more: object) -> Any:
    await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
    return await bench.result("add_source", {"source": source, "idempotency_key": "k", **more})


async def test_a_text_is_added_and_waited_for(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        result = await add(bench, TEXT, wait_until_ready=True)
        assert result["status"] == "ready"
        assert result["source"]["title"] == "Tides"
        assert result["source"]["id"] == result["source_id"]
        assert not {"title_ignored", "warning", "possible_duplicates"} & result.keys()


async def test_waiting_is_no_part_of_the_write(tmp_path: Path) -> None:
    """The same key may wait or not."""
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        first = await add(bench, TEXT)
        again = await bench.result("add_source", {"source": TEXT, "idempotency_key": "k", "wait_until_ready": True})
        assert (first["status"], again["status"]) == ("added", "ready")
        assert again["replayed"]


async def test_a_title_that_the_service_did_not_take_is_told(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        result = await add(bench, {"type": "url", "url": "https://example.com/a", "title": "My own"})
        assert result["title_ignored"]
        assert result["source"]["title"] != "My own"


@pytest.mark.parametrize(("text", "warns"), [("Page not found. Go to the start page.", True), ("Word. " * 500, False)])
async def test_a_ready_page_without_a_pages_text_carries_a_warning(tmp_path: Path, text: str, warns: bool) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        bench.browser.state.web_pages["https://example.com/gone"] = WebPage("Gone", text)
        result = await add(bench, {"type": "url", "url": "https://example.com/gone"}, wait_until_ready=True)
        assert result["status"] == "ready"
        assert ("warning" in result) is warns


async def test_a_private_address_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
        source = {"type": "url", "url": "http://192.168.1.1/"}
        error = await bench.error("add_source", {"source": source, "idempotency_key": "k"})
        assert error["code"] == "INVALID_ARGUMENT"
        assert not (bench.home / "journal.sqlite").exists()


async def test_a_file_outside_every_root_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.txt"
    path.write_text("text")
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
        source = {"type": "file", "title": "t", "file_path": str(path)}
        error = await bench.error("add_source", {"source": source, "idempotency_key": "k"})
        assert error["code"] == "INVALID_ARGUMENT"
        assert bench.browser.calls.count("o4cbdc") == 0
