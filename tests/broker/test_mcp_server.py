"""What an MCP client sees of us, in both eras, without a browser behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trio
from mcp.shared.exceptions import MCPError

from broker.errors import CompanionOffline
from broker.mcp_server import INSTRUCTIONS, MAX_PROGRESS_CHARS, build_server
from broker.tools import TOOLS
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from native_host.build import BUILD
from tests.broker.session_helpers import Bench, open_bench
from tests.broker.stdio_peer import ENVELOPE, Peer, pipe_peer
from tests.shared import case_input


@asynccontextmanager
async def open_client(tmp_path: Path) -> AsyncGenerator[tuple[Peer, Bench]]:
    async with (
        open_bench(tmp_path, LIGHTHOUSE_ID) as bench,
        pipe_peer(build_server(TOOLS, bench.dispatcher)) as client,
    ):
        yield client, bench


async def test_the_handshake_names_us_and_declares_tools_only(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        answer = await client.initialize()
        assert answer["serverInfo"] == {"name": "notebook-gateway", "title": "Notebook Gateway", "version": BUILD}
        assert answer["capabilities"] == {"tools": {"listChanged": False}}
        assert answer["instructions"] == INSTRUCTIONS


async def test_both_eras_list_the_same_tools_in_the_same_order(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        by_handshake = (await client.request("tools/list"))["result"]
        stateless = (await client.request("tools/list", {"_meta": ENVELOPE}))["result"]
        assert by_handshake["tools"] == stateless["tools"]
        assert [tool["name"] for tool in stateless["tools"]] == [tool.name for tool in TOOLS]
        assert (stateless["ttlMs"], stateless["cacheScope"]) == (3_600_000, "public")
        discovered = (await client.request("server/discover", {"_meta": ENVELOPE}))["result"]
        assert discovered["supportedVersions"] == ["2026-07-28"]
        assert discovered["capabilities"] == {"tools": {"listChanged": False}}


async def test_every_tool_has_title_description_schemas_and_all_four_hints(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        for tool in (await client.request("tools/list"))["result"]["tools"]:
            assert tool["title"]
            assert tool["description"]
            assert tool["inputSchema"]["additionalProperties"] is False
            assert tool["outputSchema"]["type"] == "object"
            hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
            assert all(isinstance(tool["annotations"][hint], bool) for hint in hints)


@pytest.mark.parametrize("meta", [{}, ENVELOPE], ids=["handshake", "stateless"])
async def test_c012_results_and_failures_conform_to_the_published_schema(tmp_path: Path, meta: dict[str, object]):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        listed = (await client.request("tools/list"))["result"]["tools"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in listed}
        calls: list[tuple[str, dict[str, object]]] = [
            ("list_sources", {}),
            ("select_notebook", {"notebook_id": LIGHTHOUSE_ID}),
            ("list_notebooks", {}),
            ("get_notebook_metadata", {}),
            ("list_sources", {"page_size": 2}),
            ("list_sources", {"unknown": True}),
            ("query_notebook", {"question": DEMO_QUESTION, "request_key": "k"}),
            ("list_notes", {}),
            ("create_note", {"title": "t", "content": "c", "idempotency_key": "k"}),
            ("delete_note", {"note_id": LIGHTHOUSE_ID, "idempotency_key": "k"}),
        ]
        outcomes: list[bool] = []
        for tool, arguments in calls:
            result = (await client.call(tool, arguments, _meta=meta))["result"]
            envelope = result["structuredContent"]
            jsonschema.validate(envelope, schemas[tool], cls=jsonschema.Draft202012Validator)
            assert result["isError"] is not envelope["ok"]
            assert json.loads(result["content"][0]["text"]) == envelope
            assert result["_meta"]["mcp_correlation_id"] == envelope["_meta"]["mcp_correlation_id"]
            assert result["_meta"]["traceparent"] == envelope["_meta"]["traceparent"]
            outcomes.append(envelope["ok"])
        assert outcomes == [False, True, True, True, True, False, True, True, True, False]
        bench.browser.error = CompanionOffline("no browser")
        envelope = (await client.call("list_sources", {}, _meta=meta))["result"]["structuredContent"]
        jsonschema.validate(envelope, schemas["list_sources"], cls=jsonschema.Draft202012Validator)
        assert envelope["error"]["code"] == "COMPANION_OFFLINE"


async def test_c015_the_reserved_meta_and_missing_arguments_are_accepted(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        assert (await client.call("list_notebooks"))["result"]["isError"] is False
        with_token = await client.call("list_notebooks", {"page_size": 5}, _meta={"progressToken": "t1"})
        assert with_token["result"]["isError"] is False


C015: list[dict[str, Any]] = json.loads(case_input("C-015-arguments.json").read_text())


@pytest.mark.parametrize("call", C015, ids=lambda call: f"{call['name']}-{call['expect']}")
async def test_c015_the_calls_of_the_case_are_judged_as_it_says(tmp_path: Path, call: dict[str, Any]):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        before = len(bench.browser.calls)
        params = {key: value for key, value in call.items() if key != "expect"}
        envelope = (await client.request("tools/call", params))["result"]["structuredContent"]
        assert envelope["ok"] is (call["expect"] == "ok")
        if call["expect"] == "bad":
            assert envelope["error"]["code"] == "INVALID_ARGUMENT"
            wrong = ("content", "mimeType", "confirm", "notebook_id", "_meta")
            assert any(name in envelope["error"]["message"] for name in wrong)
            assert len(bench.browser.calls) == before


async def test_c014_an_object_given_as_json_text_is_refused_and_named(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        before = len(bench.browser.calls)
        arguments = {"idempotency_key": "k", "source": '{"type":"text","title":"t","content":"c"}'}
        envelope = (await client.call("add_source", arguments))["result"]["structuredContent"]
        assert envelope["error"]["code"] == "INVALID_ARGUMENT"
        assert "source must be an object" in envelope["error"]["message"]
        assert len(bench.browser.calls) == before


async def test_a_callers_trace_is_continued(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
        result = (await client.call("list_notebooks", {}, _meta={"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}))[
            "result"
        ]
        assert result["_meta"]["traceparent"].split("-")[1] == trace_id
        assert result["_meta"]["mcp_correlation_id"] == "1"


async def test_an_unknown_tool_is_a_protocol_error(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        for params in ({"name": "nope"}, {"name": "nope", "_meta": ENVELOPE}):
            error = (await client.request("tools/call", params))["error"]
            assert error["code"] == -32602
            assert "nope" in error["message"]


@pytest.mark.parametrize("token", [0, ""])
async def test_c011_progress_of_a_question_carries_the_token_and_rises(tmp_path: Path, token: int | str):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        bench.browser.state.options.chunk_delay_ms = 120.0
        question = {"question": DEMO_QUESTION, "request_key": "k"}
        result = (await client.call("query_notebook", question, _meta={"progressToken": token}))["result"]
        assert result["structuredContent"]["ok"]
        assert client.notes
        params = [note["params"] for note in client.notes]
        assert all(each["progressToken"] == token and type(each["progressToken"]) is type(token) for each in params)
        steps = [each["progress"] for each in params]
        assert steps == sorted(set(steps))
        assert all(0 < len(each["message"]) <= MAX_PROGRESS_CHARS + 1 for each in params)
        await client.request("ping", request_id="last")
        assert len(client.notes) == len(params)


async def test_no_progress_is_sent_without_a_token(tmp_path: Path):
    async with open_client(tmp_path) as (client, _):
        await client.initialize()
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        await client.call("query_notebook", {"question": DEMO_QUESTION, "request_key": "k"})
        assert client.notes == []


async def test_c005_a_cancelled_question_gets_no_answer_and_can_be_collected(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        question = {"name": "query_notebook", "arguments": {"question": DEMO_QUESTION, "request_key": "k"}}
        await client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": question})
        with trio.fail_after(10):
            while not bench.browser.asked:
                await trio.lowlevel.checkpoint()
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        assert (await client.request("ping", request_id=3))["result"] == {}
        collected = (await client.request("tools/call", question, request_id=4))["result"]
        assert collected["structuredContent"]["result"]["status"] == "complete"
        assert len(bench.browser.asked) == 1


async def test_c007_line_separators_pass_through_a_question_and_its_answer(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await client.initialize()
        source = bench.browser.state.notebooks[0].sources[0]
        source.title = "one\u2028two\u2029three\u0085four"
        await client.call("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        message = json.loads(case_input("C-007-line-separators.txt").read_text())
        answer = await client.request("tools/call", message["params"], request_id=9)
        assert answer["result"]["structuredContent"]["_meta"]["mcp_correlation_id"] == "rk-1"
        assert bench.browser.asked[0][1] == message["params"]["arguments"]["question"]
        listed = (await client.call("list_sources"))["result"]
        assert source.title in [row["title"] for row in listed["structuredContent"]["result"]["sources"]]
        assert len(bytes(client.raw_output).decode().splitlines()) == bytes(client.raw_output).count(b"\n")


@pytest.mark.parametrize("meta", [{}, ENVELOPE], ids=["handshake", "stateless"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (RuntimeError("SID=very-secret"), -32603),
        (ExceptionGroup("g", [RuntimeError("SID=very-secret")]), -32603),
        (ExceptionGroup("g", [MCPError(code=-32602, message="ours")]), -32602),
    ],
    ids=["foreign", "group", "wrapped protocol error"],
)
async def test_what_escapes_a_handler_is_never_told_to_the_client(
    tmp_path: Path, meta: dict[str, object], fault: Exception, code: int, monkeypatch: pytest.MonkeyPatch
):
    async with open_client(tmp_path) as (client, bench):

        async def dispatch(request: Any) -> Any:
            await trio.lowlevel.checkpoint()
            raise fault

        monkeypatch.setattr(bench.dispatcher, "dispatch", dispatch)
        await client.initialize()
        answer = await client.request("tools/call", {"name": "list_sources", "_meta": meta})
        assert answer["error"]["code"] == code
        assert b"very-secret" not in client.raw_output
        assert (await client.request("ping", request_id=2))["result"] == {}
