"""`add_source` through the whole chain: each type, once per key, and what becomes of the source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from harness.mcp_client import McpClient
from tests.e2e.tool_calls import succeed
from tests.e2e.writing import (
    Service,
    digest,
    done,
    drive_source,
    file_source,
    make_file,
    open_session,
    refused,
    text_source,
    url_source,
)

pytestmark = pytest.mark.browser

PAGE = "https://tides.example/table?port=7"
VIDEO = "https://youtu.be/abcdefghijk?si=x"
DOCUMENT = "1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789-_abcd"
WAIT_S = 3
IMPATIENT_SERVE = (
    sys.executable,
    "-P",
    "-c",
    f"import sys, broker.tools.add_source as tool; tool.SETTLE_WITHIN_S = {WAIT_S}.0; "
    "sys.argv = ['notebook-gateway', 'serve']; from notebook_gateway.__main__ import main; sys.exit(main())",
)
"""`serve` that waits three seconds for a source, in place of forty-five."""


# -- the four types --------------------------------------------------------------------------------------------------


async def test_a_text_is_added_as_it_is_and_becomes_ready(agent: McpClient, service: Service) -> None:
    title, content = "Ebb & flow – 潮 😀", 'One line.\nAnother: \u2028 "quoted" 🏴\u200d☠️ e\u0301 \\ \x01.'
    result = await done(agent, "add_source", text_source(title, content, wait_until_ready=True))
    assert (result["status"], result["replayed"]) == ("ready", False)
    assert "title_ignored" not in result
    (request,) = service.requests("izAoDd")
    assert request["params"][0][0][1] == [title, content]
    (source,) = service.sources()
    assert (source["id"], source["title"]) == (result["source_id"], title)
    listed = await succeed(agent, "list_sources")
    assert [row["id"] for row in listed["sources"]] == [result["source_id"]]


@pytest.mark.parametrize(("url", "slot", "kind"), [(PAGE, 2, "web_page"), (VIDEO, 7, "youtube")])
async def test_c077_an_address_goes_into_the_slot_of_its_kind_unchanged(
    agent: McpClient, service: Service, url: str, slot: int, kind: str
) -> None:
    result = await done(agent, "add_source", url_source(f"  {url} ", wait_until_ready=True))
    assert (result["status"], result["source"]["kind"]) == ("ready", kind)
    assert "warning" not in result
    (request,) = service.requests("izAoDd")
    (spec,) = request["params"][0]
    assert {index for index, value in enumerate(spec) if value is not None} == {slot, 10}
    assert spec[slot] == [url]
    assert [source["url"] for source in service.sources()] == [url]


async def test_a_drive_document_is_added_under_its_own_title(agent: McpClient, service: Service) -> None:
    result = await done(agent, "add_source", drive_source(DOCUMENT, "What I call it", wait_until_ready=True))
    assert (result["status"], result["title_ignored"]) == ("ready", True)
    (source,) = service.sources()
    assert source["drive_id"] == DOCUMENT
    assert result["source"]["title"] == source["title"] != "What I call it"


async def test_a_file_is_registered_uploaded_and_becomes_ready(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "survey.pdf", 1_200_000)
    result = await done(agent, "add_source", file_source(path, "Survey of the reef", wait_until_ready=True))
    assert (result["status"], result["source"]["kind"]) == ("ready", "pdf")
    (source,) = service.sources()
    assert (source["id"], source["title"]) == (result["source_id"], "Survey of the reef")
    (upload,) = service.control.uploads()
    assert (upload["sha256"], upload["mime_type"], upload["status"]) == (digest(path), "application/pdf", "final")
    assert service.writes().count("o4cbdc") == 1


# -- once per key ----------------------------------------------------------------------------------------------------


async def test_the_same_key_returns_the_stored_result_in_another_broker_and_after_a_restart(
    agent: McpClient, other_agent: McpClient, service: Service, chain: dict[str, Any]
) -> None:
    arguments = text_source()
    added = await done(agent, "add_source", arguments)
    again = [await done(client, "add_source", arguments) for client in (agent, other_agent)]
    async with open_session(chain["env"]) as later:
        again.append(await done(later, "add_source", arguments))
        other = await refused(
            later, "add_source", {**text_source("Other"), "idempotency_key": arguments["idempotency_key"]}
        )
    assert added["replayed"] is False
    assert [(result["source_id"], result["replayed"]) for result in again] == 3 * [(added["source_id"], True)]
    assert other["code"] == "INVALID_ARGUMENT"
    assert service.writes() == ["izAoDd"]


async def test_c028_two_identical_calls_in_two_brokers_are_one_request(
    agent: McpClient, other_agent: McpClient, service: Service
) -> None:
    service.fault("izAoDd", "delay", delay_ms=500)
    arguments = text_source()
    results: list[dict[str, Any]] = []

    async def add(client: McpClient) -> None:
        results.append(await done(client, "add_source", arguments))

    async with trio.open_nursery() as nursery:
        for client in (agent, other_agent, agent, other_agent):
            nursery.start_soon(add, client)
    assert len({result["source_id"] for result in results}) == 1
    assert [result["replayed"] for result in results].count(False) == 1
    assert service.writes() == ["izAoDd"]
    assert len(service.sources()) == 1


async def test_two_keys_for_the_same_text_are_two_sources_and_each_gets_its_own(
    agent: McpClient, other_agent: McpClient, service: Service
) -> None:
    results: list[dict[str, Any]] = []

    async def add(client: McpClient) -> None:
        results.append(await done(client, "add_source", text_source("Same", "The same text.")))

    async with trio.open_nursery() as nursery:
        for client in (agent, other_agent, agent, other_agent):
            nursery.start_soon(add, client)
    assert {result["source_id"] for result in results} == {source["id"] for source in service.sources()}
    assert len(service.sources()) == 4
    assert not any("possible_duplicates" in result for result in results)


@pytest.mark.parametrize("content", [100_000 * "😀", 1_500_000 * "a"], ids=["emoji", "letters"])
async def test_c035_a_text_of_more_than_one_message_to_chrome_arrives_whole(
    agent: McpClient, service: Service, content: str
) -> None:
    await done(agent, "add_source", text_source("Long", content))
    (request,) = service.requests("izAoDd")
    assert request["params"][0][0][1][1] == content


# -- what becomes of it ----------------------------------------------------------------------------------------------


async def test_c078_a_source_that_is_never_read_is_processing_with_its_id_and_progress_tells_of_it(
    service: Service, chain: dict[str, Any]
) -> None:
    service.fault("izAoDd", "slow_ingest", seconds=None)
    said: list[str] = []
    async with open_session(chain["env"], command=IMPATIENT_SERVE) as agent:
        result = await done(
            agent,
            "add_source",
            text_source(wait_until_ready=True),
            on_progress=lambda params: said.append(str(params.get("message"))),
        )
    assert (result["status"], result["source"]["state"]) == ("processing", "processing")
    assert 1 < result["waited_s"] <= WAIT_S
    assert any("processing after" in message for message in said), said
    assert [source["id"] for source in service.sources()] == [result["source_id"]]


@pytest.mark.parametrize("number", [7, None])
async def test_c078_a_source_that_cannot_be_read_is_failed_at_once_with_the_reason_that_there_is(
    agent: McpClient, service: Service, number: int | None
) -> None:
    service.fault("izAoDd", "fail_ingest", reason=number)
    arguments = url_source(PAGE, wait_until_ready=True)
    result = await done(agent, "add_source", arguments)
    assert (result["status"], result["source"]["state"]) == ("failed", "failed")
    assert ("reason" in result) is (number is not None)
    assert number is None or str(number) in result["reason"]
    again = await done(agent, "add_source", arguments)
    assert (again["status"], again["source_id"], again["replayed"]) == ("failed", result["source_id"], True)
    assert service.writes() == ["izAoDd"]


async def test_c078_a_source_that_disappears_is_not_found_with_its_id(agent: McpClient, service: Service) -> None:
    service.fault("izAoDd", "ingest_states", states=[1, 1, None])
    error = await refused(agent, "add_source", text_source(wait_until_ready=True))
    assert error["code"] == "NOT_FOUND"
    assert error["details"]["source_id"] in error["message"]


async def test_a_ready_page_with_next_to_no_text_or_of_an_error_carries_a_warning(
    agent: McpClient, service: Service
) -> None:
    pages = {
        "https://thin.example/": {"title": "Thin", "text": "Please enable JavaScript."},
        "https://dead.example/": {"title": "Fine title", "text": f"{'Menu, menu. ' * 30} Error 404: Page not found."},
        "https://long.example/": {"title": "404 not found", "text": f"Page not found. {'A long read. ' * 400}"},
    }
    service.control.change_state({"web_pages": pages})
    results = [await done(agent, "add_source", url_source(url, wait_until_ready=True)) for url in pages]
    assert [result["status"] for result in results] == 3 * ["ready"]
    thin, dead, long = (result.get("warning") for result in results)
    assert "little/no text" in str(thin)
    assert "error-page pattern" in str(dead)
    assert long is None


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [5, 7])
async def test_c081_a_document_that_cannot_be_opened_is_what_the_error_is_about(
    agent: McpClient, service: Service, status: int
) -> None:
    service.fault("izAoDd", "status", code=status)
    arguments = drive_source(DOCUMENT)
    error = await refused(agent, "add_source", arguments)
    assert (error["code"], error["details"]["doc_id"]) == ("NOT_FOUND", DOCUMENT)
    assert "Drive document" in error["message"]
    again = await refused(agent, "add_source", arguments)
    assert (again["code"], again["message"]) == (error["code"], error["message"])
    assert service.writes() == ["izAoDd"]
    assert service.sources() == []


async def test_c081_what_is_no_document_id_is_refused_before_anything_is_sent(
    agent: McpClient, service: Service
) -> None:
    for doc_id in (f"https://docs.google.com/document/d/{DOCUMENT}/edit", f"{DOCUMENT[:9]} x", f"{DOCUMENT}\n"):
        error = await refused(agent, "add_source", drive_source(doc_id))
        assert error["code"] == "INVALID_ARGUMENT", doc_id
    assert service.writes() == []


async def test_c015_a_field_of_another_type_and_a_private_address_are_refused_before_anything_is_sent(
    agent: McpClient, service: Service, project: Path
) -> None:
    foreign = text_source()
    foreign["source"]["url"] = PAGE
    outside = file_source(project.parent / "elsewhere.txt")
    make_file(project.parent, "elsewhere.txt", 10)
    for arguments in (foreign, url_source("http://169.254.169.254/latest/"), url_source("file:///x"), outside):
        assert (await refused(agent, "add_source", arguments))["code"] == "INVALID_ARGUMENT"
    assert service.writes() == []
