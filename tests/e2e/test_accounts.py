"""Whose page it is: another account, nobody, two accounts at once, and all four hosts of the service."""

from __future__ import annotations

from typing import Any

import pytest

from cdp.connection import Connection
from harness.control import Control
from harness.emulator.hosts import DEFAULT_HOST, NOTEBOOK_HOSTS
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from harness.mcp_client import McpClient
from harness.tabs import reload_tab
from tests.e2e.tool_calls import call, fail, select, succeed

pytestmark = pytest.mark.browser

ADA = "ada@example.com"
GRACE = "grace@example.com"


def data_requests(control: Control) -> list[dict[str, Any]]:
    """What arrived and is no page."""
    return [request for request in control.requests() if request["rpc"] != "page"]


async def test_c051_another_accounts_page_is_refused_with_both_masked_and_nothing_is_asked(
    client: McpClient, control: Control, browser: Connection
) -> None:
    """The service falls back to another account without a word when the wanted one is not signed in."""
    control.change_state({"signed_in": [GRACE]})
    await reload_tab(browser)
    for tool, arguments in (("list_notebooks", {}), ("select_notebook", {"notebook_id": LIGHTHOUSE_ID})):
        envelope = await call(client, tool, arguments)
        assert envelope["error"]["code"] == "ACCOUNT_MISMATCH", envelope
        assert envelope["error"]["retryable"] is False
        assert "a***@example.com" in envelope["error"]["message"]
        assert "g***@example.com" in envelope["error"]["message"]
        assert ADA not in str(envelope)
        assert GRACE not in str(envelope)
    assert data_requests(control) == []
    control.change_state({"signed_in": [ADA, GRACE]})
    assert (await succeed(client, "list_notebooks"))["notebooks"]


async def test_an_account_that_leaves_in_the_middle_of_a_session_is_noticed_before_anything_of_the_other_is_shown(
    client: McpClient, control: Control
) -> None:
    await select(client)
    control.change_state({"signed_in": [GRACE]})
    error = await fail(client, "list_sources")
    assert error["code"] == "ACCOUNT_MISMATCH"
    assert all(request["status"] != 200 for request in data_requests(control) if request["account"] == GRACE)
    control.change_state({"signed_in": [GRACE, ADA]})
    assert (await succeed(client, "list_sources"))["sources"]


@pytest.mark.parametrize("signed_out_page", ["redirect", "bare"])
async def test_c050_signed_out_is_named_and_signing_in_again_is_enough(
    client: McpClient, control: Control, signed_out_page: str
) -> None:
    """Both ways in which the service shows it: a redirect to the sign-in host, and the same page without an account."""
    await select(client)
    control.change_state({"signed_out_page": signed_out_page, "signed_in": []})
    for tool, arguments in (("list_sources", {}), ("query_notebook", {"question": "q", "request_key": "signed-out"})):
        error = await fail(client, tool, arguments)
        assert (error["code"], error["retryable"]) == ("AUTH_REQUIRED", False)
    assert (await fail(client, "list_notebooks"))["code"] == "AUTH_REQUIRED"
    control.change_state({"signed_in": [ADA]})
    assert (await succeed(client, "list_sources"))["sources"]
    assert (await succeed(client, "list_notebooks"))["session"]["notebook_id"] == LIGHTHOUSE_ID


async def test_c052_every_request_names_the_configured_account_whatever_its_place(
    client: McpClient, control: Control, browser: Connection
) -> None:
    await select(client)
    for order in ([GRACE, ADA], [ADA, GRACE], [ADA]):
        control.change_state({"signed_in": order})
        await succeed(client, "list_sources")  # in the page that was loaded while the account had another place
        await reload_tab(browser)
        await succeed(client, "list_sources")
    await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "whose"})
    requests = control.requests()
    assert {"page", "rLM1Ne", "stream", "hizoJc"} <= {request["rpc"] for request in requests}
    assert {(request["account"], request["authuser"]) for request in requests} == {(ADA, ADA)}


@pytest.mark.parametrize("landed", [host for host in NOTEBOOK_HOSTS if host != DEFAULT_HOST])
async def test_c049_a_page_that_moved_to_another_real_host_is_used_there(
    client: McpClient, control: Control, browser: Connection, landed: str
) -> None:
    control.change_state({"host_redirects": {ADA: {host: landed for host in NOTEBOOK_HOSTS if host != landed}}})
    await reload_tab(browser)
    control.clear_requests()
    await select(client)
    answer = await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "moved"})
    assert answer["citations"]
    assert {request["host"] for request in data_requests(control)} == {landed}
    control.change_state({"host_redirects": {ADA: {landed: DEFAULT_HOST}}})
    await reload_tab(browser)
    control.clear_requests()
    assert (await succeed(client, "list_sources"))["sources"]
    assert {request["host"] for request in data_requests(control)} == {DEFAULT_HOST}
