"""The conversation of a session: one of our own, never the person's, and replaced when the extension forgot it."""

from __future__ import annotations

import pytest
import trio

from harness.chain import open_chain
from harness.control import Control
from harness.emulator.seed import DEMO_QUESTION
from harness.mcp_client import SERVE_COMMAND, open_client
from tests.e2e.tool_calls import select, succeed

pytestmark = pytest.mark.browser


async def test_a_session_asks_on_in_one_conversation_and_begins_a_new_one_when_the_extension_forgot_it() -> None:
    """ADR-035. `chrome.storage.session`, where minted ids live, goes with the browser."""
    async with open_chain() as chain, open_client(SERVE_COMMAND, env=chain.env) as client:
        control = Control(chain.upstream["control_url"], chain.upstream["control_token"])
        persons_own = {talk["id"] for talk in (await trio.to_thread.run_sync(control.state))["conversations"]}
        with trio.fail_after(60):
            await client.initialize()
            await select(client)
            for key in ("first", "second"):
                await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": key})
            await chain.evaluate_in_worker("chrome.storage.session.clear()")
            await chain.stop_worker()
            await chain.wait_for_companion(other_than=chain.socket)
            await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "third"})
        arrived = await trio.to_thread.run_sync(control.requests)
    asked_in = [request["params"][4] for request in arrived if request["rpc"] == "stream"]
    assert len(asked_in) == 3
    assert asked_in[0] == asked_in[1]
    assert asked_in[2] != asked_in[0]
    assert not persons_own & set(asked_in)
