"""The browser may send a request twice by itself; the result tells (ADR-044)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.control import Control
from harness.emulator.seed import EMPTY_PLAN_ID
from tests.e2e.tool_calls import select, succeed

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("tool", "rpc", "arguments"),
    [
        ("create_note", "CYK0Xb", {"title": "Twice", "content": "Once."}),
        ("add_source", "izAoDd", {"source": {"type": "text", "title": "Twice", "content": "Once."}}),
    ],
    ids=["note", "source"],
)
async def test_a_request_that_the_browser_repeated_is_told_as_a_possible_double(
    client: Any, control: Control, tool: str, rpc: str, arguments: dict[str, Any]
) -> None:
    await select(client, EMPTY_PLAN_ID)
    control.clear_requests()
    control.add_fault({"rpc": rpc, "fault": "commit_then_drop", "bare": True})
    result = await succeed(client, tool, {**arguments, "idempotency_key": f"twice {tool}"})
    assert [request["rpc"] for request in control.requests()].count(rpc) == 2
    notebook = next(each for each in control.state()["notebooks"] if each["id"] == EMPTY_PLAN_ID)
    made = [each["id"] for each in (notebook["notes"] if tool == "create_note" else notebook["sources"])]
    named = result["note_id"] if tool == "create_note" else result["source_id"]
    assert sorted([named, *result["possible_duplicates"]]) == sorted(made)
    assert len(made) == 2
