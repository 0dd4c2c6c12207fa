"""One call's road through all programs, as their own logs tell it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
import trio

from harness.emulator.seed import DEMO_QUESTION
from tests.e2e.tool_calls import call, fail, select

pytestmark = pytest.mark.browser

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e47%02d"
PARENT_ID = "00f067aa0ba902b7"


async def logs(chain: dict[str, Any], *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "notebook_gateway", "logs", *words]
    return await trio.run_process(command, env={**os.environ, **chain["env"]}, capture_stdout=True, check=False)


async def road_of(chain: dict[str, Any], trace_id: str) -> dict[str, Any]:
    (road,) = json.loads((await logs(chain, "--trace", trace_id, "--json")).stdout)
    return road


async def test_a_call_of_a_client_is_followed_to_the_service_and_back(chain: dict[str, Any], client: Any) -> None:
    await select(client)
    trace_id = TRACE_ID % 1
    envelope = await call(client, "list_sources", meta={"traceparent": f"00-{trace_id}-{PARENT_ID}-01"})
    version, came_back, own_id, _ = envelope["_meta"]["traceparent"].split("-")
    assert (version, came_back) == ("00", trace_id)
    assert own_id != PARENT_ID
    road = await road_of(chain, trace_id)
    stretches = road["stretches"]
    assert (stretches[0]["where"], stretches[0]["name"], stretches[0]["result"]) == ("broker", "list_sources", "ok")
    request = next(index for index, each in enumerate(stretches) if each["name"] == "rpc rLM1Ne")
    chain_of_hops = stretches[request : request + 5]
    assert [each["where"] for each in chain_of_hops] == ["broker", "host", "worker", "page", "service"]
    for outer, inner in pairwise(chain_of_hops):
        assert inner["depth"] == outer["depth"] + 1
        assert 0 < inner["took_ms"] <= outer["took_ms"]
        assert outer["began_ms"] <= inner["began_ms"]
        assert inner["began_ms"] + inner["took_ms"] <= outer["began_ms"] + outer["took_ms"] + 0.01
    shown = (await logs(chain, "--trace", trace_id)).stdout.decode()
    assert "█" in shown
    for word in (trace_id, "list_sources", "rpc rLM1Ne", "host", "worker", "page", "service"):
        assert word in shown


async def test_a_refused_call_shows_where_it_ended_and_no_content(
    chain: dict[str, Any], client: Any, control: Any
) -> None:
    await select(client)
    control.add_fault({"rpc": "stream", "fault": "http_error", "http_status": 500, "times": None})
    trace_id = TRACE_ID % 2
    meta = {"traceparent": f"00-{trace_id}-{PARENT_ID}-01"}
    arguments = {"question": DEMO_QUESTION, "request_key": "road-1"}
    assert not (await call(client, "query_notebook", arguments, meta=meta))["ok"]
    road = await road_of(chain, trace_id)
    assert road["stretches"][0]["result"] == "UPSTREAM_REJECTED"
    assert "stream" in [each["name"] for each in road["stretches"]]
    assert DEMO_QUESTION not in json.dumps(road)


async def test_the_last_calls_are_listed_newest_first(chain: dict[str, Any], client: Any) -> None:
    await fail(client, "list_notes")
    await select(client)
    await call(client, "list_notes")
    listed = json.loads((await logs(chain, "--limit", "3", "--json")).stdout)
    assert [(road["stretches"][0]["name"], road["stretches"][0]["result"]) for road in listed] == [
        ("list_notes", "ok"),
        ("select_notebook", "ok"),
        ("list_notes", "SESSION_UNLOCKED"),
    ]
    assert b"SESSION_UNLOCKED" in (await logs(chain)).stdout


async def test_a_trace_that_nobody_wrote_is_said_to_be_missing(chain: dict[str, Any]) -> None:
    ended = await logs(chain, "--trace", "f" * 32)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert (await logs(chain, "--trace", "nonsense")).returncode == 2
