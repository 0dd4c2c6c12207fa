"""Deleting asks the person through the client, in both protocol eras, over the real transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from broker.elicitation import FORM, INPUT_KEY
from broker.mcp_server import build_server
from broker.tools import TOOLS
from harness.emulator.seed import LIGHTHOUSE_ID
from tests.broker.session_helpers import Bench, open_bench
from tests.broker.stdio_peer import ENVELOPE, INITIALIZE, INITIALIZED, Peer, pipe_peer

NOTE_ID = "1a9e7e00-0001-4e00-8b00-000000000001"
DELETE: dict[str, object] = {"note_id": NOTE_ID, "idempotency_key": "k"}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ASKS: list[dict[str, object]] = [{}, {"form": {}}, {"form": {}, "url": {}}]
"""What clients that show forms declare."""
NO_FORMS: list[dict[str, object]] = [{}, {"elicitation": {"url": {}}}]


@asynccontextmanager
async def open_client(tmp_path: Path, settings: str = "") -> AsyncGenerator[tuple[Peer, Bench]]:
    """Select the notebook; `settings` are lines for its configuration."""
    async with (
        open_bench(tmp_path, LIGHTHOUSE_ID) as bench,
        pipe_peer(build_server(TOOLS, bench.dispatcher)) as client,
    ):
        with (bench.home / "config.toml").open("a") as config:
            config.write(settings)
        await bench.result("select_notebook", {"notebook_id": LIGHTHOUSE_ID})
        yield client, bench


async def shake_hands(client: Peer, capabilities: Mapping[str, object]) -> None:
    params = {**INITIALIZE["params"], "capabilities": capabilities}
    await client.send({**INITIALIZE, "params": params}, INITIALIZED)
    await client.receive_id("init")


async def begin(client: Peer, request_id: object = 1) -> None:
    params = {"name": "delete_note", "arguments": DELETE}
    await client.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})


async def question(client: Peer) -> dict[str, Any]:
    asked = await client.receive()
    assert asked["method"] == "elicitation/create"
    return asked


async def reply(client: Peer, asked: Mapping[str, Any], **outcome: object) -> None:
    await client.send({"jsonrpc": "2.0", "id": asked["id"], **outcome})


async def stateless(client: Peer, capabilities: Mapping[str, object], key: str = "k", **params: object) -> Any:
    meta = {**ENVELOPE, CAPABILITIES: capabilities}
    return (await client.call("delete_note", {**DELETE, "idempotency_key": key}, _meta=meta, **params))["result"]


def answer_to(asked: Mapping[str, Any], action: str) -> dict[str, Any]:
    """Return what a client adds to the repeated call."""
    return {"inputResponses": {INPUT_KEY: {"action": action}}, "requestState": asked["requestState"]}


def is_deleted(bench: Bench) -> bool:
    notebook = bench.browser.state.notebook_for(LIGHTHOUSE_ID, bench.browser.account)
    return next(note for note in notebook.notes if note.id == NOTE_ID).deleted


def sent(bench: Bench) -> int:
    return bench.browser.calls.count("AH0mwd")


def error_of(result: Mapping[str, Any]) -> Any:
    assert result["isError"]
    return result["structuredContent"]["error"]


# ------------------------------------------------------------------------------------------------ handshake era
@pytest.mark.parametrize("elicitation", ASKS)
@pytest.mark.parametrize("content", [{}, None], ids=["empty", "absent"])
async def test_handshake_an_accepted_question_deletes(
    tmp_path: Path, elicitation: dict[str, object], content: dict[str, object] | None
):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": elicitation})
        await begin(client)
        asked = await question(client)
        assert asked["params"]["requestedSchema"] == FORM
        assert "To ask Marta" in asked["params"]["message"]
        assert NOTE_ID in asked["params"]["message"]
        assert sent(bench) == 0
        accepted: dict[str, object] = {"action": "accept"}
        await reply(client, asked, result=accepted if content is None else {**accepted, "content": content})
        result = (await client.receive_id(1))["result"]["structuredContent"]["result"]
        assert (result["status"], result["note_id"], result["replayed"]) == ("deleted", NOTE_ID, False)
        assert is_deleted(bench)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_handshake_a_declined_or_dismissed_question_sends_nothing(tmp_path: Path, action: str):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await reply(client, await question(client), result={"action": action})
        error = error_of((await client.receive_id(1))["result"])
        assert (error["code"], error["retryable"]) == ("CANCELLED", False)
        assert "nothing was sent" in error["message"]
        assert sent(bench) == 0
        assert not is_deleted(bench)


@pytest.mark.parametrize(
    "outcome",
    [
        {"error": {"code": -32601, "message": "Method not found"}},
        {"result": {"action": "perhaps"}},
        {"result": {}},
    ],
    ids=["error", "unknown action", "no action"],
)
async def test_handshake_a_client_that_cannot_do_what_it_declared_is_a_no(tmp_path: Path, outcome: dict[str, object]):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await reply(client, await question(client), **outcome)
        error = error_of((await client.receive_id(1))["result"])
        assert error["code"] == "CANCELLED"
        assert "confirm_deletes" in error["hint"]
        assert sent(bench) == 0


async def test_handshake_a_question_nobody_answers_ends_and_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("broker.confirmation.CONFIRM_WITHIN_S", 0.05)
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await question(client)
        error = error_of((await client.receive_id(1))["result"])
        assert (error["code"], error["retryable"]) == ("TIMEOUT", True)
        assert sent(bench) == 0


async def test_handshake_the_client_may_cancel_the_call_while_the_person_thinks(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        asked = await question(client)
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await reply(client, asked, result={"action": "accept"})
        assert (await client.request("ping", request_id=2))["result"] == {}
        assert sent(bench) == 0
        # The same key is free, and the person is asked again.
        await begin(client, 3)
        await reply(client, await question(client), result={"action": "accept"})
        assert (await client.receive_id(3))["result"]["isError"] is False
        assert sent(bench) == 1


async def test_handshake_other_calls_are_answered_while_the_person_thinks(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client, "slow")
        asked = await question(client)
        assert (await client.call("list_notes"))["result"]["isError"] is False
        await reply(client, asked, result={"action": "accept"})
        assert (await client.receive_id("slow"))["result"]["isError"] is False
        assert is_deleted(bench)


@pytest.mark.parametrize("capabilities", NO_FORMS)
async def test_handshake_a_client_that_shows_no_forms_is_not_asked(tmp_path: Path, capabilities: dict[str, object]):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, capabilities)
        assert (await client.call("delete_note", DELETE))["result"]["isError"] is False
        assert is_deleted(bench)


# ------------------------------------------------------------------------------------------------ stateless era
@pytest.mark.parametrize("elicitation", ASKS)
async def test_stateless_the_result_asks_and_the_repeat_with_the_answer_deletes(
    tmp_path: Path, elicitation: dict[str, object]
):
    async with open_client(tmp_path) as (client, bench):
        capabilities = {"elicitation": elicitation}
        asked = await stateless(client, capabilities)
        assert asked["resultType"] == "input_required"
        asks = asked["inputRequests"][INPUT_KEY]
        assert asks["method"] == "elicitation/create"
        assert asks["params"]["requestedSchema"] == FORM
        assert NOTE_ID in asks["params"]["message"]
        assert sent(bench) == 0
        result = await stateless(client, capabilities, **answer_to(asked, "accept"))
        assert result["structuredContent"]["result"]["status"] == "deleted"
        assert is_deleted(bench)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_stateless_a_declined_or_dismissed_question_sends_nothing(tmp_path: Path, action: str):
    async with open_client(tmp_path) as (client, bench):
        asked = await stateless(client, {"elicitation": {}})
        result = await stateless(client, {"elicitation": {}}, **answer_to(asked, action))
        assert error_of(result)["code"] == "CANCELLED"
        assert sent(bench) == 0
        # A no is used up like a yes: changing it afterwards asks again.
        changed = await stateless(client, {"elicitation": {}}, **answer_to(asked, "accept"))
        assert changed["resultType"] == "input_required"
        assert sent(bench) == 0


@pytest.mark.parametrize(
    "brought",
    [
        {"inputResponses": {INPUT_KEY: {"action": "accept"}}},
        {"inputResponses": {INPUT_KEY: {"action": "accept"}}, "requestState": "made up"},
        {"inputResponses": {"other": {"action": "accept"}}},
        {"inputResponses": {INPUT_KEY: {"roots": []}}},
        {"requestState": "made up"},
    ],
    ids=["no state", "invented state", "another input", "another kind of answer", "no answer"],
)
async def test_stateless_an_answer_to_nothing_we_asked_is_asked_for(tmp_path: Path, brought: dict[str, Any]):
    async with open_client(tmp_path) as (client, bench):
        result = await stateless(client, {"elicitation": {}}, **brought)
        assert result["resultType"] == "input_required"
        assert sent(bench) == 0


async def test_stateless_a_title_that_changed_meanwhile_is_asked_about_again(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        asked = await stateless(client, {"elicitation": {}})
        notebook = bench.browser.state.notebook_for(LIGHTHOUSE_ID, bench.browser.account)
        next(note for note in notebook.notes if note.id == NOTE_ID).title = "Now something dear"
        again = await stateless(client, {"elicitation": {}}, **answer_to(asked, "accept"))
        assert "Now something dear" in again["inputRequests"][INPUT_KEY]["params"]["message"]
        assert sent(bench) == 0


async def test_stateless_a_yes_for_one_call_is_none_for_another(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        asked = await stateless(client, {"elicitation": {}})
        result = await stateless(client, {"elicitation": {}}, key="another", **answer_to(asked, "accept"))
        assert result["resultType"] == "input_required"
        assert sent(bench) == 0


@pytest.mark.parametrize("capabilities", NO_FORMS)
async def test_stateless_a_client_that_shows_no_forms_is_not_asked(tmp_path: Path, capabilities: dict[str, object]):
    async with open_client(tmp_path) as (client, bench):
        result = await stateless(client, capabilities)
        assert result["structuredContent"]["result"]["status"] == "deleted"
        assert is_deleted(bench)


# ------------------------------------------------------------------------------------------------ both
async def test_without_confirm_deletes_nobody_is_asked_in_either_era(tmp_path: Path):
    """For unattended use."""
    async with open_client(tmp_path, "confirm_deletes = false\n") as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        first = (await client.call("delete_note", DELETE))["result"]
        assert first["structuredContent"]["result"]["status"] == "deleted"
        replayed = await stateless(client, {"elicitation": {}})
        assert replayed["structuredContent"]["result"]["replayed"] is True
        assert sent(bench) == 1


async def test_a_replay_asks_nobody_and_conforms_to_the_published_schema(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await reply(client, await question(client), result={"action": "accept"})
        first = (await client.receive_id(1))["result"]["structuredContent"]
        again = (await client.call("delete_note", DELETE))["result"]["structuredContent"]
        assert again["result"] == {**first["result"], "replayed": True}
        schema = next(tool.output_schema for tool in TOOLS if tool.name == "delete_note")
        for envelope in (first, again):
            jsonschema.validate(envelope, schema, cls=jsonschema.Draft202012Validator)
        assert sent(bench) == 1


async def test_each_era_asks_in_its_own_way_on_one_pipe(tmp_path: Path):
    """Clients probe with the one and speak the other (C-002)."""
    async with open_client(tmp_path) as (client, bench):
        asked = await stateless(client, {"elicitation": {}})
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await reply(client, await question(client), result={"action": "decline"})
        assert error_of((await client.receive_id(1))["result"])["code"] == "CANCELLED"
        result = await stateless(client, {"elicitation": {}}, **answer_to(asked, "accept"))
        assert result["structuredContent"]["result"]["status"] == "deleted"
        assert sent(bench) == 1


async def test_the_pipe_may_close_while_the_person_thinks(tmp_path: Path):
    async with open_client(tmp_path) as (client, bench):
        await shake_hands(client, {"elicitation": {}})
        await begin(client)
        await question(client)
    assert sent(bench) == 0
