"""Writes whose outcome is unclear, or whose page or broker is not what it was: exactly once, or honestly unknown."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from cdp.connection import Connection
from cdp.polling import until
from harness import browser as headless
from harness.emulator.seed import EMPTY_PLAN_ID, TRAMS_ID
from harness.home import forget_back_offs
from harness.mcp_client import McpClient
from harness.tabs import reload_tab
from tests.e2e.raw_broker import open_raw_broker
from tests.e2e.tool_calls import succeed
from tests.e2e.writing import Service, done, drive_source, new_note, open_session, refused, text_source, url_source

pytestmark = pytest.mark.browser

ADA = "ada@example.com"
GRACE = "grace@example.com"
OLD_ADDRESS = "https://example.com/a"


async def test_a_lost_answer_is_looked_up_and_the_new_source_is_the_result(agent: McpClient, service: Service) -> None:
    found: list[str] = []
    for arguments in (
        text_source("Lost"),
        drive_source("LostDocument_0123456789"),
        url_source("https://lost.example/"),
    ):
        service.fault("izAoDd", "commit_then_drop")
        result = await done(agent, "add_source", arguments)
        found.append(result["source_id"])
        assert {source["id"] for source in service.sources()} == set(found)
    assert service.writes() == 3 * ["izAoDd"]


# -- the same address twice (C-075) ----------------------------------------------------------------------------------


async def test_c075_a_committed_add_is_found_beside_an_older_one_of_the_same_address(
    agent: McpClient, service: Service
) -> None:
    add_old_source(service)
    service.fault("izAoDd", "commit_then_drop")
    result = await done(agent, "add_source", url_source(OLD_ADDRESS))
    (old, new) = sorted(service.sources(), key=lambda source: source["title"] != "Old")
    assert old["title"] == "Old"
    assert result["source_id"] == new["id"]
    assert service.writes() == ["izAoDd"]


async def test_c075_an_add_that_has_not_come_is_unknown_and_found_once_it_comes(
    agent: McpClient, service: Service
) -> None:
    """Absence proves nothing: here the service takes seven seconds, one more than the first call looks."""
    add_old_source(service)
    service.fault("izAoDd", "drop_then_commit", delay_ms=7_000)
    arguments = url_source(OLD_ADDRESS)
    error = await refused(agent, "add_source", arguments)
    assert (error["code"], error["retryable"], error["details"]["candidates"]) == ("MUTATION_UNKNOWN", False, [])
    result = await done(agent, "add_source", arguments)
    assert result["source_id"] in {source["id"] for source in service.sources() if source["title"] != "Old"}
    assert len(service.sources()) == 2
    assert service.writes() == ["izAoDd"]


def add_old_source(service: Service) -> None:
    """Let the notebook have a source for the address already."""
    source = {"notebook": EMPTY_PLAN_ID, "title": "Old", "text": "x", "url": OLD_ADDRESS}
    service.control.change_state({"add_sources": [source]})


# -- a status that may mean "accepted" (C-076) -----------------------------------------------------------------------


@pytest.mark.parametrize("code", [3, 9])
async def test_c076_a_source_that_appears_after_a_refusal_is_the_result(
    agent: McpClient, service: Service, code: int
) -> None:
    service.fault("izAoDd", "status", code=code, commit_after_ms=2_000)
    result = await done(agent, "add_source", url_source(f"https://late.example/{code}"))
    assert [source["id"] for source in service.sources()] == [result["source_id"]]
    assert service.writes() == ["izAoDd"]


async def test_c076_a_refusal_without_a_source_is_unknown_after_looking_and_names_the_limit(
    agent: McpClient, service: Service, chain: dict[str, Any]
) -> None:
    """One that never appears, and at the same time one in a notebook that is full."""
    service.control.change_state({"source_limits": {TRAMS_ID: len(service.sources(TRAMS_ID))}})
    errors: list[dict[str, Any]] = []

    async def add(client: McpClient, url: str) -> None:
        errors.append(await refused(client, "add_source", url_source(url)))

    async with open_session(chain["env"], TRAMS_ID) as other, trio.open_nursery() as nursery:
        nursery.start_soon(add, other, "https://full.example/")
        await service.wait_for("izAoDd")
        service.fault("izAoDd", "status", code=9)
        nursery.start_soon(add, agent, "https://never.example/")
    for error in errors:
        assert (error["code"], error["retryable"]) == ("MUTATION_UNKNOWN", False)
        assert "limit of sources" in error["message"]
    assert service.writes() == ["izAoDd", "izAoDd"]


# -- definite answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"fault": "http_error", "http_status": 400}, "AUTH_REQUIRED"),
        ({"fault": "http_429", "retry_after_s": 3}, "RATE_LIMITED"),
        ({"fault": "status", "code": 8}, "RATE_LIMITED"),
        ({"fault": "signed_out", "answer": "redirect"}, "AUTH_REQUIRED"),
    ],
    ids=["stale token", "http 429", "status 8", "redirect"],
)
async def test_a_definite_no_is_the_stored_outcome_and_a_new_key_works(
    chain: dict[str, Any], agent: McpClient, service: Service, fault: dict[str, Any], code: str
) -> None:
    service.control.add_fault({"rpc": "izAoDd", **fault})
    arguments = text_source()
    error = await refused(agent, "add_source", arguments)
    assert (error["code"], error["details"]["mutation"]) == (code, "rejected"), error
    again = await refused(agent, "add_source", arguments)
    assert (again["code"], again["message"]) == (error["code"], error["message"])
    assert service.writes() == ["izAoDd"]
    forget_back_offs(chain["env"])
    await done(agent, "add_source", text_source())
    assert len(service.sources()) == 1


async def test_a_request_that_the_browser_itself_sent_twice_is_told_of(agent: McpClient, service: Service) -> None:
    await succeed(agent, "list_sources")  # a connection that has served a request is what Chromium trusts so much
    service.fault("izAoDd", "commit_then_drop", bare=True)
    result = await done(agent, "add_source", text_source("Twice"))
    ids = {source["id"] for source in service.sources()}
    assert len(ids) == 2
    assert {result["source_id"], *result["possible_duplicates"]} == ids


# -- whose page it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "arguments"), [("add_source", text_source()), ("create_note", new_note())])
async def test_a_page_of_another_account_gets_no_write_and_both_are_masked(
    agent: McpClient, service: Service, browser: Connection, tool: str, arguments: dict[str, Any]
) -> None:
    service.control.change_state({"signed_in": [GRACE]})
    await reload_tab(browser)
    try:
        error = await refused(agent, tool, arguments)
    finally:
        service.control.change_state({"signed_in": [ADA, GRACE]})
        await reload_tab(browser)
    assert_masked_mismatch(error)
    assert [request for request in service.control.requests() if request["rpc"] != "page"] == []
    await done(agent, tool, arguments)  # nothing was sent, so the key is as good as new


@pytest.mark.parametrize(
    ("tool", "arguments", "read"), [("add_source", text_source(), "rLM1Ne"), ("create_note", new_note(), "cFji9")]
)
async def test_a_page_whose_account_changes_between_the_look_and_the_write_gets_no_write(
    agent: McpClient,
    service: Service,
    browser: Connection,
    tool: str,
    arguments: dict[str, Any],
    read: str,
) -> None:
    service.fault(read, "delay", delay_ms=600)
    errors: list[dict[str, Any]] = []

    async def try_to_write() -> None:
        errors.append(await refused(agent, tool, arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(try_to_write)
        await service.wait_for(read)
        await headless.evaluate_in_tab(browser, f"void (WIZ_global_data.oPEP7c = '{GRACE}')")
    await headless.evaluate_in_tab(browser, f"void (WIZ_global_data.oPEP7c = '{ADA}')")
    assert_masked_mismatch(errors[0])
    assert service.writes() == []


def assert_masked_mismatch(error: dict[str, Any]) -> None:
    """Both addresses are named, neither in full."""
    assert error["code"] == "ACCOUNT_MISMATCH", error
    assert "a***@example.com" in error["message"]
    assert "g***@example.com" in error["message"]
    assert ADA not in str(error)
    assert GRACE not in str(error)


# -- brokers that go away --------------------------------------------------------------------------------------------


async def test_a_write_goes_on_when_the_connection_of_its_broker_closes(
    service: Service, chain: dict[str, Any]
) -> None:
    """The page is never told to abort one, since nobody could say then whether it had an effect."""
    service.fault("CYK0Xb", "delay", delay_ms=500)
    async with open_raw_broker(chain["socket"]) as raw:
        params: list[Any] = [EMPTY_PLAN_ID, "", [1], None, "New Note"]
        await raw.send(raw.call_frame("rpc", {"rpc": "CYK0Xb", "params": params}, notebook=EMPTY_PLAN_ID))
        await service.wait_for("CYK0Xb")
    with trio.fail_after(10):
        await until(partial(trio.to_thread.run_sync, service.live_notes))
    assert service.writes() == ["CYK0Xb"]


async def test_c005_a_call_that_is_cancelled_after_its_request_left_is_collected_by_the_same_key(
    agent: McpClient, service: Service
) -> None:
    service.fault("CYK0Xb", "delay", delay_ms=700)
    arguments = new_note()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(done, agent, "create_note", arguments)
        await service.wait_for("CYK0Xb")
        nursery.cancel_scope.cancel()  # the client then sends notifications/cancelled
    created = await done(agent, "create_note", arguments)
    assert [(each["id"], each["text"]) for each in service.live_notes()] == [(created["note_id"], arguments["content"])]
    assert service.writes() == ["CYK0Xb", "cYAfTb"]


async def test_a_broker_killed_under_its_request_leaves_what_the_next_one_finds(
    agent: McpClient, service: Service, chain: dict[str, Any]
) -> None:
    service.fault("izAoDd", "delay", delay_ms=1_500)
    arguments = text_source("Orphan")
    async with open_session(chain["env"]) as doomed, trio.open_nursery() as nursery:
        nursery.start_soon(done, doomed, "add_source", arguments)
        await service.wait_for("izAoDd")
        doomed.process.kill()
        nursery.cancel_scope.cancel()
    result = await done(agent, "add_source", arguments)
    assert [source["id"] for source in service.sources()] == [result["source_id"]]
    assert service.writes() == ["izAoDd"]
