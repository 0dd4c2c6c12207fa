"""Each thing that goes wrong in the field, made to happen for real: one clear envelope, and the next call works."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID, TRAMS_ID
from tests.e2e.tool_calls import call, fail, select, succeed

pytestmark = pytest.mark.browser


async def assert_recovers(client: Any, control: Any) -> None:
    """The fault over, the next good call works in the same process, after the time that an agent is told to wait."""
    control.clear_faults()
    envelope = await call(client, "list_sources")
    if not envelope["ok"] and envelope["error"]["code"] == "RATE_LIMITED":
        await trio.sleep(envelope["error"]["details"]["retry_after_s"])
        envelope = await call(client, "list_sources")
    assert envelope["ok"], envelope
    assert envelope["result"]["sources"]


async def test_a_rate_limit_is_named_and_says_when_to_come_back(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "rLM1Ne", "fault": "http_429", "retry_after_s": 2, "times": None})
    error = await fail(client, "list_sources")
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
    assert error["details"]["retry_after_s"] == 2
    await assert_recovers(client, control)


@pytest.mark.parametrize(
    ("status", "code"),
    [(5, "NOT_FOUND"), (7, "NOT_FOUND"), (8, "RATE_LIMITED"), (9, "UPSTREAM_REJECTED"), (13, "UPSTREAM_REJECTED")],
)
async def test_c056_a_status_row_becomes_its_code(client: Any, control: Any, status: int, code: str) -> None:
    await select(client)
    control.add_fault({"rpc": "rLM1Ne", "fault": "status", "code": status, "times": None})
    error = await fail(client, "list_sources")
    assert error["code"] == code
    assert code == "RATE_LIMITED" or str(status) in error["message"]
    await assert_recovers(client, control)


async def test_a_drifted_list_is_loud_and_names_rpc_and_slot(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "rLM1Ne", "fault": "drift", "slot": [0, 1], "action": "retype", "times": None})
    error = await fail(client, "list_sources")
    assert error["code"] == "UPSTREAM_SCHEMA_DRIFT"
    assert error["details"]["rpc_id"] == "rLM1Ne"
    assert error["details"]["path"].startswith("$")
    await assert_recovers(client, control)


async def test_c053_a_stale_token_is_renewed_once_and_the_read_succeeds(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "rLM1Ne", "fault": "http_error", "http_status": 400, "times": 1})
    assert (await succeed(client, "list_sources"))["sources"]
    control.add_fault({"rpc": "rLM1Ne", "fault": "http_error", "http_status": 400, "times": None})
    control.clear_requests()
    assert (await fail(client, "list_sources"))["code"] == "AUTH_REQUIRED"
    reads = [request for request in control.requests() if request["rpc"] == "rLM1Ne"]
    assert len(reads) == 2  # one retry, no loop
    await assert_recovers(client, control)


async def test_c064_a_severed_stream_is_no_answer(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "stream", "fault": "disconnect", "bytes": 9000, "times": 1})
    error = await fail(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "severed"})
    assert error["code"] == "STREAM_SEVERED"
    control.clear_faults()
    result = await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "again"})
    assert result["citations"]


async def test_an_answer_without_citations_is_refused_and_its_text_marked(client: Any, control: Any) -> None:
    await select(client)
    question = {"question": "Zirconium tariffs, Ouagadougou?", "request_key": "nothing"}
    error = await fail(client, "query_notebook", question)
    assert error["code"] == "UNGROUNDED_RESPONSE"
    assert error["details"]["ungrounded_text"]
    await assert_recovers(client, control)


async def test_a_source_that_failed_is_named_before_anything_is_asked(client: Any, control: Any) -> None:
    await select(client, TRAMS_ID)
    failed = "50a2ce00-0003-4a00-8b00-000000000001"
    control.change_state({"source_states": {failed: 3}})
    arguments = {"question": "Which stop is slowest?", "request_key": "failed", "source_ids": [failed]}
    error = await fail(client, "query_notebook", arguments)
    assert error["code"] == "SOURCE_NOT_READY"
    assert failed in str(error)
    unknown = arguments | {"source_ids": ["50a2ce00-9999-4a00-8b00-000000000001"], "request_key": "unknown"}
    assert (await fail(client, "query_notebook", unknown))["code"] == "NOT_FOUND"
    assert [request for request in control.requests() if request["rpc"] == "stream"] == []


@pytest.mark.parametrize("place", ["runs", "markers", "citations"])
async def test_each_place_that_carries_spans_shifted_alone_is_caught(client: Any, control: Any, place: str) -> None:
    await select(client)
    control.add_fault({"rpc": "stream", "fault": "shift_spans", "place": place, "times": 1})
    error = await fail(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": f"shift-{place}"})
    assert error["code"] == "UPSTREAM_SCHEMA_DRIFT"
    control.clear_faults()
    result = await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": f"straight-{place}"})
    assert result["citations"]


async def test_a_signed_out_page_says_so_and_signing_in_again_mends_it(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "page", "fault": "signed_out", "times": None})
    control.add_fault({"rpc": "rLM1Ne", "fault": "signed_out", "times": None})
    assert (await fail(client, "list_sources"))["code"] == "AUTH_REQUIRED"
    await assert_recovers(client, control)


async def test_a_slow_answer_does_not_block_other_calls(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "hizoJc", "fault": "delay", "delay_ms": 700, "times": None})
    done: list[str] = []

    async def ask() -> None:
        await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "slow"})
        done.append("question")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        envelope = await call(client, "list_sources")
        assert envelope["ok"]
        done.append("list")
    assert done == ["list", "question"]


async def test_a_notebook_that_disappears_is_not_found(client: Any, control: Any) -> None:
    await select(client)
    control.add_fault({"rpc": "rLM1Ne", "fault": "status", "code": 5, "times": 1})
    error = await fail(client, "get_notebook_metadata")
    assert error["code"] == "NOT_FOUND"
    assert LIGHTHOUSE_ID in str(await succeed(client, "get_notebook_metadata"))
