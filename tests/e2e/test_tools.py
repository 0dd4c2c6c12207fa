"""The five tools through the whole real chain, as an MCP client sees them."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from harness.emulator.seed import (
    DEFAULT_ALLOWED,
    DEMO_QUESTION,
    EMPTY_PLAN_ID,
    FOREIGN_ID,
    LIGHTHOUSE_ID,
    LIGHTHOUSE_TITLE,
    SOURDOUGH_ID,
    TRAM_STOPS,
    TRAMS_ID,
    UNLISTED_ID,
)
from tests.e2e.tool_calls import call, fail, select, succeed

pytestmark = pytest.mark.browser

LIGHTHOUSE_SOURCE = "50a2ce00-0001-4a00-8b00-000000000001"


async def test_only_allowed_notebooks_are_listed(client: Any) -> None:
    result = await succeed(client, "list_notebooks")
    assert {notebook["id"] for notebook in result["notebooks"]} == set(DEFAULT_ALLOWED)
    assert result["user_prompt"]
    assert LIGHTHOUSE_TITLE in {notebook["title"] for notebook in result["notebooks"]}


async def test_tools_before_selection_are_refused_and_work_after_it(client: Any) -> None:
    for tool in ("get_notebook_metadata", "list_sources"):
        assert (await fail(client, tool))["code"] == "SESSION_UNLOCKED"
    assert (await fail(client, "query_notebook", {"question": "q", "request_key": "k"}))["code"] == "SESSION_UNLOCKED"
    await succeed(client, "select_notebook", {"title": LIGHTHOUSE_TITLE, "save_for_project": False})
    assert (await succeed(client, "list_sources"))["sources"]


async def test_c022_another_notebook_is_refused_and_the_lock_is_shown(client: Any) -> None:
    await select(client)
    await select(client)  # the same one again is no error
    error = await fail(client, "select_notebook", {"notebook_id": SOURDOUGH_ID, "save_for_project": False})
    assert error["code"] == "SESSION_LOCKED"
    assert LIGHTHOUSE_TITLE in error["message"]
    assert (await succeed(client, "list_notebooks"))["session"]["notebook_id"] == LIGHTHOUSE_ID


async def test_c022_another_process_is_free(client: Any, gateway_client: Any) -> None:
    await select(client)
    async with gateway_client() as restarted:
        await restarted.initialize()
        assert (await succeed(restarted, "list_notebooks"))["session"]["state"] == "DISCOVERY_ONLY"
        await select(restarted, SOURDOUGH_ID)


async def test_c017_an_ambiguous_title_lists_the_candidates_and_locks_nothing(client: Any) -> None:
    error = await fail(client, "select_notebook", {"title": "Plan", "save_for_project": False})
    assert error["code"] == "INVALID_ARGUMENT"
    assert EMPTY_PLAN_ID in str(error)
    assert (await succeed(client, "list_notebooks"))["session"]["state"] == "DISCOVERY_ONLY"
    assert (await fail(client, "select_notebook", {"title": "Pla"}))["code"] == "NOT_FOUND"


async def test_a_notebook_that_is_not_allowed_cannot_be_selected(client: Any, control: Any) -> None:
    for notebook in (UNLISTED_ID, FOREIGN_ID):
        error = await fail(client, "select_notebook", {"notebook_id": notebook, "save_for_project": False})
        assert error["code"] == "ALLOWLIST_DENIED"
    assert all(request["rpc"] != "rLM1Ne" for request in control.requests())


async def test_a_foreign_notebook_id_is_overwritten_by_the_locked_one(client: Any) -> None:
    await select(client)
    result = await succeed(client, "get_notebook_metadata", {"notebook_id": UNLISTED_ID})
    assert result["notebook_id_overridden"] is True
    assert UNLISTED_ID not in str(result)


async def test_c061_every_source_is_seen_once_while_paging(client: Any, control: Any) -> None:
    await select(client, TRAMS_ID)
    upstream = next(row for row in control.state()["notebooks"] if row["id"] == TRAMS_ID)
    expected = {source["id"] for source in upstream["sources"]}
    assert len(expected) >= TRAM_STOPS
    for page_size in (7, 50, 100):
        seen: list[str] = []
        arguments: dict[str, Any] = {"page_size": page_size}
        while True:
            page = await succeed(client, "list_sources", arguments)
            seen += [source["id"] for source in page["sources"]]
            if "next_cursor" not in page:
                break
            arguments["cursor"] = page["next_cursor"]
        assert sorted(seen) == sorted(expected)


async def test_an_empty_notebook_has_an_empty_list_and_that_is_no_drift(client: Any) -> None:
    await select(client, EMPTY_PLAN_ID)
    assert (await succeed(client, "list_sources"))["sources"] == []


async def test_every_citation_is_proven_by_slicing_answer_and_source(client: Any, control: Any) -> None:
    """The spans are checked here against the emulator's own source texts, not against anything of the broker."""
    await select(client)
    result = await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "proof"})
    assert result["status"] == "complete"
    texts = {
        source["id"]: source["text"]
        for notebook in control.state()["notebooks"]
        if notebook["id"] == LIGHTHOUSE_ID
        for source in notebook["sources"]
    }
    assert len(result["citations"]) >= 2
    assert any(ord(character) > 0xFFFF for citation in result["citations"] for character in citation["quote"])
    for citation in result["citations"]:
        span = citation["source_span"]
        assert span is not None, citation
        assert texts[citation["source_id"]][span["start"] : span["end"]] == citation["quote"]
        for answer_span in citation["answer_spans"]:
            cited = result["answer_text"][answer_span["start"] : answer_span["end"]]
            assert cited.strip()
    marks = {f"[{citation['number']}" for citation in result["citations"]}
    assert any(mark in result["answer"] for mark in marks)


async def test_the_same_request_key_is_asked_upstream_once(client: Any, control: Any) -> None:
    await select(client)
    ask = {"question": DEMO_QUESTION, "request_key": "once"}
    outcomes: list[dict[str, Any]] = []

    async def one() -> None:
        outcomes.append(await succeed(client, "query_notebook", ask))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)
    outcomes.append(await succeed(client, "query_notebook", ask))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    streams = [request for request in control.requests() if request["rpc"] == "stream"]
    assert len(streams) == 1
    error = await fail(client, "query_notebook", {"question": "Something else?", "request_key": "once"})
    assert error["code"] == "INVALID_ARGUMENT"


async def test_c080_a_question_carries_only_the_sources_it_is_scoped_to(client: Any, control: Any) -> None:
    await select(client)
    arguments = {"question": DEMO_QUESTION, "request_key": "scoped", "source_ids": [LIGHTHOUSE_SOURCE]}
    envelope = await call(client, "query_notebook", arguments)
    assert envelope["ok"] or envelope["error"]["code"] == "UNGROUNDED_RESPONSE", envelope
    stream = next(request for request in control.requests() if request["rpc"] == "stream")
    assert stream["params"][0] == [[[LIGHTHOUSE_SOURCE]]]


async def test_progress_carries_the_growing_text_and_stops_before_the_answer(client: Any) -> None:
    await select(client)
    seen: list[dict[str, Any]] = []
    await succeed(
        client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "progress"}, on_progress=seen.append
    )
    values = [note["progress"] for note in seen]
    assert values
    assert values == sorted(set(values))
    at_answer = len(seen)
    await client.request("ping", {})
    assert len(seen) == at_answer


async def test_a_trace_is_continued_and_the_callers_key_comes_back_unhashed(client: Any) -> None:
    await select(client)
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    envelope = await call(
        client,
        "query_notebook",
        {"question": DEMO_QUESTION, "request_key": "my key № 1"},
        meta={"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01", "io.notebook-gateway/hops": True},
    )
    assert envelope["_meta"]["mcp_correlation_id"] == "my key № 1"
    assert envelope["_meta"]["traceparent"].split("-")[1] == trace_id
    assert {"page_ms", "fetch_ms", "worker_ms", "relay_ms"} <= envelope["_meta"]["hops_ms"].keys()
