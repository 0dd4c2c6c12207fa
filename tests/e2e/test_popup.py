"""The page for people, in the real browser: what it says, what it changes, and that agents obey."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio

from cdp.connection import Connection
from cdp.polling import until
from cdp.targets import attached, evaluate, get_targets
from harness.control import Control
from harness.emulator.seed import LIGHTHOUSE_ID
from harness.mcp_client import McpClient
from tests.e2e.popup_page import Popup, open_popup
from tests.e2e.tool_calls import fail, select, succeed

pytestmark = pytest.mark.browser

TAB, SPACE = ("Tab", 9, ""), (" ", 32, " ")
TITLE = "Lantern Rock"
CANARY = "How many steps has the lighthouse tower?"


@pytest.fixture
async def popup(client: McpClient, browser: Connection) -> AsyncGenerator[Popup, None]:
    """The popup beside a connected agent; what a test changes in it is put back."""
    await succeed(client, "list_notebooks")
    async with open_popup(browser) as opened:
        before = await evaluate(opened.session, "chrome.storage.local.get(['settings', 'paused'])")
        yield opened
        await restore(opened, before)


async def restore(popup: Popup, before: Any) -> None:
    """Asks the worker itself: what the popup shows may be older than what a test's last click did."""
    notebooks = before["settings"]["notebooks"]
    code = f"""new Promise((resolve) => {{
      const port = chrome.runtime.connect({{ name: "popup" }});
      const asks = [["pause", false], ["allow", {json.dumps(notebooks)}]];
      const answers = [];
      port.onMessage.addListener((answer) => {{
        if (!("id" in answer)) return;
        answers.push(answer.ok);
        if (answers.length === asks.length) resolve(answers);
      }});
      asks.forEach(([ask, value], id) => port.postMessage({{ id, ask, value }}));
    }})"""
    assert await evaluate(popup.session, code) == [True, True]


async def activity_command(chain: dict[str, Any], *more: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "notebook_gateway", "activity", *more]
    return await trio.run_process(
        command, env={**os.environ, **chain["env"]}, check=False, capture_stdout=True, capture_stderr=True
    )


async def test_it_says_that_all_is_well_for_whom_and_what_agents_may_use(popup: Popup) -> None:
    await popup.wait_for("#summary", "Ready.")
    assert await popup.text("#account") == "ada@example.com"
    await popup.wait_for("#hops", "Native host: connected")
    assert "notebook.google.com, signed in" in await popup.text("#hops")
    await popup.wait_for("#notebooks", TITLE)


async def test_the_pause_stops_every_agent_at_once_and_lets_them_go_on(popup: Popup, client: McpClient) -> None:
    await popup.click("#pause")
    await popup.wait_for("#summary", "Paused")
    error = await fail(client, "list_notebooks")
    assert (error["code"], error["retryable"]) == ("COMPANION_OFFLINE", False)
    assert "switch the pause off" in error["hint"]
    await popup.click("#pause")
    await popup.wait_for("#summary", "Ready.")
    await succeed(client, "list_notebooks")


async def test_a_question_under_way_ends_when_the_person_pauses(
    popup: Popup, client: McpClient, control: Control
) -> None:
    await select(client)
    control.change_state({"chunk_delay_ms": 60_000})
    async with trio.open_nursery() as nursery:
        errors: list[dict[str, Any]] = []

        async def ask() -> None:
            errors.append(await fail(client, "query_notebook", {"question": CANARY, "request_key": "paused-1"}))

        nursery.start_soon(ask)
        await popup.wait_for("#activity", "running")
        await popup.click("#pause")
    assert errors[0]["code"] == "COMPANION_OFFLINE"


async def test_a_notebook_that_is_unticked_is_refused_and_one_that_is_ticked_is_let_through(
    popup: Popup, client: McpClient
) -> None:
    await popup.wait_for("#notebooks", TITLE)
    if await popup.text("input[value=all]:checked"):
        raise AssertionError("the chain of these tests allows single notebooks")
    box = f'input[value="{LIGHTHOUSE_ID}"]'
    await popup.click(box)
    await popup.wait_for("#saved", "Saved.")
    error = await fail(client, "select_notebook", {"notebook_id": LIGHTHOUSE_ID})
    assert (error["code"], error["details"]["side"]) == ("ALLOWLIST_DENIED", "extension")
    await popup.click(box)
    await popup.wait_until(f"document.querySelector('{box}').checked")
    await select(client)


async def test_the_last_calls_show_agent_tool_notebook_and_result_and_the_command_says_the_same(
    popup: Popup, client: McpClient, chain: dict[str, Any]
) -> None:
    await select(client)
    await succeed(client, "query_notebook", {"question": CANARY, "request_key": "shown-1"})
    await popup.wait_for("#activity tr", "query_notebook")
    await popup.wait_until("document.querySelector('#activity tr td:nth-child(5)').textContent === 'ok'")
    row = (await popup.text("#activity tr")).split("\t")
    assert (row[1], row[4]) == ("query_notebook", "ok")
    assert TITLE in row[2]
    everything = str(await evaluate(popup.session, "document.documentElement.outerHTML"))
    kept = json.dumps(await evaluate(popup.session, "chrome.storage.session.get('activity')"))
    assert "steps" not in everything
    assert "steps" not in kept

    result = await activity_command(chain, "--json", "--limit", "1")
    (latest,) = json.loads(result.stdout)["calls"]
    assert result.returncode == 0
    assert (latest["tool"], latest["notebook"], latest["result"]) == ("query_notebook", LIGHTHOUSE_ID, "ok")
    assert latest["agent"] == row[0]
    printed = await activity_command(chain)
    assert b"query_notebook" in printed.stdout


async def test_everything_can_be_done_with_the_keyboard(popup: Popup) -> None:
    await popup.wait_for("#notebooks", TITLE)
    reached: list[str] = []
    for _ in range(20):
        await popup.press(TAB[0], code=TAB[1])
        focus = "document.activeElement.id || document.activeElement.name || document.activeElement.tagName"
        reached.append(str(await evaluate(popup.session, focus)))
        if reached[-1] == "notebook":
            break
    assert reached[:4] == ["pause", "SUMMARY", "which", "notebook"]
    outline = await evaluate(popup.session, "getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    before = await evaluate(popup.session, "document.activeElement.checked")
    await popup.press(SPACE[0], code=SPACE[1], text=SPACE[2])
    await popup.wait_for("#saved", "Saved.")
    assert await evaluate(popup.session, "document.querySelector('input[name=notebook]').checked") is not before


async def test_every_control_has_a_name_and_the_page_its_landmarks(popup: Popup) -> None:
    await popup.wait_for("#notebooks", TITLE)
    nodes: Any = (await popup.session.call("Accessibility.getFullAXTree"))["nodes"]
    shown = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
    ]
    roles = {role for role, _ in shown}
    assert {"banner", "main", "contentinfo", "switch", "radio", "checkbox", "heading", "status"} <= roles
    controls = [name for role, name in shown if role in ("switch", "radio", "checkbox", "button", "textbox")]
    assert controls
    assert all(controls)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(360, 600), (760, 600)])
async def test_it_fits_at_two_sizes_in_light_and_dark(
    popup: Popup, client: McpClient, width: int, height: int, scheme: str
) -> None:
    await select(client)
    await popup.wait_for("#activity", "select_notebook")
    await popup.wait_for("#summary", "Ready.")
    assert await popup.picture(f"popup-{width}-{scheme}", width, height, scheme) == (width, height)
    assert await evaluate(popup.session, "document.documentElement.scrollWidth <= innerWidth") is True


async def test_c047_the_notebook_page_has_no_way_to_the_popups_line(popup: Popup, browser: Connection) -> None:
    async def notebook_page() -> str | None:
        pages = [each for each in await get_targets(browser) if each.url.startswith("https://notebook.google.com/")]
        return pages[0].id if pages else None

    async with attached(browser, await until(notebook_page)) as page:
        seen = await evaluate(page, "typeof globalThis.chrome?.runtime?.connect")
    assert seen == "undefined"


async def test_without_a_browser_the_command_says_what_to_do(tmp_path: Any) -> None:
    result = await activity_command({"env": {"NOTEBOOK_GATEWAY_HOME": str(tmp_path)}})
    assert result.returncode == 1
    assert b"notebook-gateway browser start" in result.stdout
