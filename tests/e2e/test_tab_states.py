"""What Chrome and a person do to the notebook tab between calls: freeze it, leave it, come back, run script in it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from cdp.connection import Connection, Session
from cdp.errors import CallFailed
from cdp.polling import until
from cdp.targets import TargetInfo, attached, evaluate, get_targets, js_literal, wait_for_target
from harness.browser import is_notebook_tab
from harness.control import Control
from harness.mcp_client import McpClient
from harness.tabs import ANOTHER_SITE
from tests.e2e.raw_broker import open_raw_broker
from tests.e2e.tool_calls import call, select, succeed
from tests.shared import case_input

pytestmark = pytest.mark.browser

RETURNS = 10


async def notebook_tab(connection: Connection) -> TargetInfo:
    (tab,) = [target for target in await get_targets(connection) if is_notebook_tab(target)]
    return tab


async def go(connection: Connection, tab_id: str, command: str, host: str) -> None:
    """Run a navigation in the tab; returns when a document of `host` is complete there."""

    async def has_arrived() -> bool:
        with suppress(CallFailed):  # between two documents
            async with attached(connection, tab_id) as session:
                return await evaluate(session, "location.hostname + ' ' + document.readyState") == f"{host} complete"
        return False

    await leave(connection, tab_id, command)
    with trio.fail_after(10):
        await until(has_arrived)


async def leave(connection: Connection, tab_id: str, command: str) -> None:
    """Run a navigation in the tab; the document that was to answer may be gone before it does."""
    async with attached(connection, tab_id) as session:
        with suppress(CallFailed):
            await evaluate(session, command)


@asynccontextmanager
async def window_opened_by(connection: Connection, tab_id: str, url: str) -> AsyncGenerator[Session]:
    """Let the page open a window on another site; close it with the block."""
    async with attached(connection, tab_id) as session:
        click = {"expression": f"void window.open({js_literal(url)})", "userGesture": True}
        await session.call("Runtime.evaluate", click)
    with trio.fail_after(10):
        window = await wait_for_target(connection, lambda target: target.type == "page" and target.url.startswith(url))
    try:
        async with attached(connection, window.id) as session:
            yield session
    finally:
        await connection.call("Target.closeTarget", {"targetId": window.id})


async def test_c044_a_frozen_tab_is_loaded_anew_and_nothing_runs_when_it_thaws(
    client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    tab = await notebook_tab(browser)
    control.clear_requests()
    async with attached(browser, tab.id) as session:
        await session.call("Page.enable")
        await session.call("Page.setWebLifecycleState", {"state": "frozen"})
        with trio.fail_after(45):
            assert (await succeed(client, "list_sources"))["sources"]
        await session.call("Page.setWebLifecycleState", {"state": "active"})
    assert (await succeed(client, "list_sources"))["sources"]
    # The page once, because the frozen one was not waited for; then one request per call and none besides.
    assert [request["rpc"] for request in control.requests()] == ["page", "rLM1Ne", "rLM1Ne"]


async def test_c046_a_page_that_came_back_is_used_or_loaded_anew_each_time(
    client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    tab = await notebook_tab(browser)
    for _ in range(RETURNS):
        await go(browser, tab.id, f"void (location.href = {js_literal(ANOTHER_SITE)})", "accounts.google.com")
        await go(browser, tab.id, "history.back()", "notebook.google.com")
        assert (await succeed(client, "list_sources"))["sources"]


async def test_c046_a_page_that_came_back_after_a_sign_out_is_signed_out(
    client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    tab = await notebook_tab(browser)
    await go(browser, tab.id, f"void (location.href = {js_literal(ANOTHER_SITE)})", "accounts.google.com")
    control.change_state({"signed_in": []})
    await leave(browser, tab.id, "history.back()")
    envelope = await call(client, "list_sources")
    assert envelope["error"]["code"] == "AUTH_REQUIRED", envelope


FORGE = """(async () => {
  const forged = %s;
  let heard = 0;
  const all = new Promise((done) => addEventListener("message", () => ++heard === forged.length && done()));
  for (const message of forged) {
    window.postMessage(message, "*");
    document.dispatchEvent(new CustomEvent("notebook-gateway", { detail: message }));
  }
  await all;
  return heard;
})()"""


async def test_c047_messages_of_the_page_and_of_another_sites_window_move_nothing(
    chain: dict[str, Any], client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    forged = json.loads(case_input("C-047-forged.json").read_text())
    tab = await notebook_tab(browser)
    async with open_raw_broker(chain["socket"]) as broker:
        before = (await broker.call("status", {}))["value"]
        control.clear_requests()
        async with attached(browser, tab.id) as session:
            with trio.fail_after(10):
                assert await evaluate(session, FORGE % js_literal(forged)) == len(forged)
        async with window_opened_by(browser, tab.id, ANOTHER_SITE) as window:
            sent = f"{js_literal(forged)}.map((message) => opener.postMessage(message, '*')).length"
            assert await evaluate(window, sent) == len(forged)
        assert (await succeed(client, "list_sources"))["sources"]
        assert [request["rpc"] for request in control.requests()] == ["rLM1Ne"]
        assert (await broker.call("status", {}))["value"] == before


async def test_the_persons_own_notebook_window_is_left_alone_and_calls_go_on_without_our_tab(
    client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    ours = await notebook_tab(browser)
    window = await browser.call("Target.createTarget", {"url": ours.url, "newWindow": True})
    theirs = str(window["targetId"])
    try:
        await go(browser, theirs, "globalThis.isTheirs = true", "notebook.google.com")
        control.clear_requests()
        assert (await succeed(client, "list_sources"))["sources"]
        await browser.call("Target.closeTarget", {"targetId": ours.id})
        assert (await succeed(client, "list_sources"))["sources"]
        async with attached(browser, theirs) as session:
            assert await evaluate(session, "globalThis.isTheirs") is True
        # One request per call, and one page of our own in place of the one that was closed.
        assert [request["rpc"] for request in control.requests()] == ["rLM1Ne", "page", "rLM1Ne"]
    finally:
        await browser.call("Target.closeTarget", {"targetId": theirs})
