"""Uploads through the real page: what the service asks for and says, files that change, names, refusals."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from harness.mcp_client import McpClient
from tests.e2e.tool_calls import succeed
from tests.e2e.writing import Service, digest, done, file_source, make_file, refused
from tests.shared import case_input

pytestmark = pytest.mark.browser

STEP_BYTES = 262_144
"""What the service asks for, unless told otherwise."""
FILE_BYTES = 5_000_000
"""As the query answers of case C-083 presume."""
HALF_BYTES = 1_800_000
"""Enough for a third part that is not the last."""
SMALL_BYTES = 600_000
"""Two whole parts and a bit."""


def the_upload(service: Service, source_id: str) -> dict[str, Any]:
    """Return the one upload session of a source."""
    (upload,) = [upload for upload in service.control.uploads() if upload["source"] == source_id]
    return upload


def assert_arrived(service: Service, result: dict[str, Any], path: Path) -> None:
    """The service has one row, and in it the file."""
    assert [source["id"] for source in service.sources()] == [result["source_id"]]
    upload = the_upload(service, result["source_id"])
    assert (upload["status"], upload["received_bytes"]) == ("final", path.stat().st_size)
    assert upload["sha256"] == digest(path)
    assert service.writes().count("o4cbdc") == 1


# -- granularity (C-082) ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["262144", "524288", "1048576", "2097152", "100000", "1", None])
async def test_c082_every_part_but_the_last_is_a_multiple_of_what_the_service_asks_for(
    agent: McpClient, service: Service, project: Path, granularity: str | None
) -> None:
    step_bytes = int(granularity or STEP_BYTES)
    size_bytes = max(SMALL_BYTES, 2 * step_bytes + 300_000)
    path = make_file(project, f"granularity-{granularity}.pdf", size_bytes)
    service.fault("upload.start", "granularity", value=granularity)
    result = await done(agent, "add_source", file_source(path))
    *parts, last = service.requests("upload.slice", "upload.finalize")
    sizes = [part["params"]["size_bytes"] for part in parts]
    assert [size % step_bytes for size in sizes] == [0] * len(sizes)
    assert last["rpc"] == "upload.finalize"
    assert sum(sizes) + last["params"]["size_bytes"] == size_bytes
    assert_arrived(service, result, path)


async def test_c082_a_granularity_that_is_no_number_stops_the_upload_with_the_source_s_id(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "granularity.pdf", 1000)
    for value in ("abc", "0"):
        service.fault("upload.start", "granularity", value=value)
        error = await refused(agent, "add_source", file_source(path))
        assert error["code"] == "UPSTREAM_SCHEMA_DRIFT", value
        assert error["details"]["source_id"] in {source["id"] for source in service.sources()}
    assert service.requests("upload.slice", "upload.finalize") == []


# -- what the query says (C-083) -------------------------------------------------------------------------------------

QUERY_ANSWERS: list[dict[str, Any]] = json.loads(case_input("C-083-query-answers.json").read_text(encoding="utf-8"))
ERRORS = {
    ("active", 6_000_000): "UPSTREAM_SCHEMA_DRIFT",
    ("active", "12x"): "UPSTREAM_SCHEMA_DRIFT",
    ("cancelled", None): "MUTATION_UNKNOWN",
    (None, None): "MUTATION_UNKNOWN",
}
"""Status and size → how the upload ends; with anything else, it arrives."""


@pytest.mark.parametrize("said", QUERY_ANSWERS, ids=lambda said: f"{said['status']}-{said['size_received']}")
async def test_c083_after_a_cut_the_service_s_number_wins(
    agent: McpClient, service: Service, project: Path, said: dict[str, Any]
) -> None:
    path = make_file(project, f"cut-{said['status']}-{said['size_received']}.pdf", FILE_BYTES)
    service.fault("upload.slice", "cut_request", keep_bytes=100_000, skip=4)
    answer = {"status": said["status"], "size_received": said["size_received"], "http_status": said.get("http", 200)}
    service.fault("upload.query", "query_answer", **answer)
    arguments = file_source(path)
    code = ERRORS.get((said["status"], said["size_received"]))
    if code is None:
        result = await done(agent, "add_source", arguments)
        source_id = result["source_id"]
        after = _parts_after_query(service)
        if said["status"] == "final":
            assert after == []
        else:
            assert after[0]["params"]["offset"] == said["size_received"]
            assert {part["params"]["size_bytes"] % STEP_BYTES for part in after[:-1]} <= {0}
        if said["size_received"] == FILE_BYTES:
            assert [part["params"]["size_bytes"] for part in after] == [0]
        elif said["status"] == "active":
            assert_arrived(service, result, path)
    else:
        error = await refused(agent, "add_source", arguments)
        assert error["code"] == code, error
        assert error["details"]["stage"].startswith("slice "), error
        source_id = error["details"]["source_id"]
        assert _parts_after_query(service) == []
        assert (await refused(agent, "add_source", arguments))["details"]["source_id"] == source_id
        assert _parts_after_query(service) == []
    assert [source["id"] for source in service.sources()] == [source_id]
    assert service.writes().count("o4cbdc") == service.writes().count("upload.start") == 1


def _parts_after_query(service: Service) -> list[dict[str, Any]]:
    requests = service.requests("upload.slice", "upload.finalize", "upload.query")
    (at, *_) = [index for index, request in enumerate(requests) if request["rpc"] == "upload.query"]
    return [request for request in requests[at:] if request["rpc"] != "upload.query"]


# -- files that change (C-084) ---------------------------------------------------------------------------------------


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x" * 1_000_000)


def _rewrite(path: Path) -> None:
    path.write_bytes(b"y" * path.stat().st_size)


def _replace(path: Path) -> None:
    newer = path.with_name("newer.bin")
    newer.write_bytes(b"z" * 1000)
    newer.rename(path)


async def change_after_part_2(
    agent: McpClient, service: Service, arguments: dict[str, Any], change: Callable[[], None]
) -> dict[str, Any]:
    """Upload a file, and change something while its third part is on the way; returns the envelope."""
    service.fault("upload.slice", "delay", delay_ms=400, skip=2)
    envelopes: list[dict[str, Any]] = []

    async def upload() -> None:
        outcome = await agent.call_tool("add_source", arguments)
        envelopes.append(outcome["structuredContent"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await service.wait_for("upload.slice", 3)
        change()
    return envelopes[0]


@pytest.mark.parametrize("change", [_replace, os.unlink], ids=["replaced", "deleted"])
async def test_c084_the_file_that_was_opened_arrives_whole(
    agent: McpClient, service: Service, project: Path, change: Callable[[Path], None]
) -> None:
    path = make_file(project, "opened.pdf", HALF_BYTES)
    kept = project / "kept.pdf"
    os.link(path, kept)
    envelope = await change_after_part_2(agent, service, file_source(path), lambda: change(path))
    assert envelope["ok"], envelope
    assert_arrived(service, envelope["result"], kept)
    kept.unlink()


@pytest.mark.parametrize("change", [_append, _rewrite], ids=["appended", "rewritten"])
async def test_c084_a_file_written_into_meanwhile_is_never_finalised(
    agent: McpClient, service: Service, project: Path, change: Callable[[Path], None]
) -> None:
    path = make_file(project, "changing.pdf", HALF_BYTES)
    envelope = await change_after_part_2(agent, service, file_source(path), lambda: change(path))
    error = envelope["error"]
    assert (error["code"], error["details"]["mutation"]) == ("INVALID_ARGUMENT", "rejected"), error
    assert [source["id"] for source in service.sources()] == [error["details"]["source_id"]]
    assert the_upload(service, error["details"]["source_id"])["status"] == "active"
    assert service.requests("upload.finalize") == []


# -- names (C-085) ---------------------------------------------------------------------------------------------------


async def test_c085_any_name_arrives_as_it_is_with_and_without_a_title_of_its_own(
    agent: McpClient, service: Service, project: Path
) -> None:
    names: list[str] = json.loads(case_input("C-085-names.json").read_text(encoding="utf-8"))
    expected: dict[str, tuple[str, str]] = {}
    for number, name in enumerate(names):
        path = make_file(project, name, 100 + number)
        options = {} if path.suffix else {"mime_type": "text/plain"}
        for title in (name, f"Title “{name}” 😀") if number < 3 else (name,):
            arguments = file_source(path, title)
            arguments["source"] |= options
            result = await done(agent, "add_source", arguments)
            expected[result["source_id"]] = (title, digest(path))
    assert {source["id"]: source["title"] for source in service.sources()} == {
        source_id: title for source_id, (title, _) in expected.items()
    }
    uploads = {upload["source"]: (upload["name"], upload["sha256"]) for upload in service.control.uploads()}
    assert uploads == expected


# -- registered, and then (C-086) ------------------------------------------------------------------------------------


async def test_c086_a_start_that_is_refused_ends_the_call_with_the_row_s_id_and_the_row_stays(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "start.pdf", SMALL_BYTES)
    for fault, code in (
        ({"fault": "http_error", "http_status": 400}, "UPSTREAM_REJECTED"),
        ({"fault": "upload_url", "url": None}, "UPSTREAM_SCHEMA_DRIFT"),
    ):
        service.control.clear_requests()
        service.control.add_fault({"rpc": "upload.start", **fault})
        arguments = file_source(path)
        for _ in range(2):
            error = await refused(agent, "add_source", arguments)
            assert (error["code"], error["details"]["stage"]) == (code, "start")
        assert service.writes() == ["o4cbdc", "upload.start"]
        listed = await succeed(agent, "list_sources")
        states = {row["id"]: row["state"] for row in listed["sources"]}
        assert states[error["details"]["source_id"]] == "preparing"


async def test_c086_a_slice_that_fails_three_times_is_unknown_and_the_repeat_goes_on_with_the_same_row(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "slices.pdf", HALF_BYTES)
    service.fault("upload.slice", "http_error", http_status=500, skip=2, times=3)
    arguments = file_source(path)
    error = await refused(agent, "add_source", arguments)
    assert error["code"] == "MUTATION_UNKNOWN"
    assert error["details"]["stage"].startswith("slice ")
    arrived = [part for part in service.requests("upload.slice") if part["status"] == 200]
    assert error["details"]["bytes_received"] == sum(part["params"]["size_bytes"] for part in arrived) > 0
    result = await done(agent, "add_source", arguments)
    assert result["source_id"] == error["details"]["source_id"]
    assert_arrived(service, result, path)
    assert service.writes().count("upload.start") == 1


async def test_c086_a_lost_answer_to_the_finalisation_is_asked_for(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "finalize.pdf", SMALL_BYTES)
    service.fault("upload.finalize", "commit_then_drop")
    assert_arrived(service, await done(agent, "add_source", file_source(path)), path)
    assert service.writes().count("upload.finalize") == 1


async def test_c086_a_finalisation_that_is_carried_out_late_is_not_doubled(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "late.pdf", SMALL_BYTES)
    service.fault("upload.finalize", "drop_then_commit", delay_ms=1_000)
    assert_arrived(service, await done(agent, "add_source", file_source(path)), path)
    assert len({upload["source"] for upload in service.control.uploads()}) == 1


# -- where slices may go (C-087) -------------------------------------------------------------------------------------

REST = "upload_id={upload_id}&upload_protocol=resumable"


@pytest.mark.parametrize(
    "url",
    [
        f"https://notebook.google.com/upload/_/?authuser=ada%40example.com&{REST}",
        f"https://notebooklm.google.com/upload/_/?{REST}",
        f"https://notebook.google.com/upload/_/?authuser=0&{REST}",
    ],
    ids=["same host", "other host", "number"],
)
async def test_c087_an_address_of_the_service_for_the_same_account_is_used(
    agent: McpClient, service: Service, project: Path, url: str
) -> None:
    path = make_file(project, "address.pdf", SMALL_BYTES)
    service.fault("upload.start", "upload_url", url=url)
    assert_arrived(service, await done(agent, "add_source", file_source(path)), path)


async def test_c087_any_other_address_is_drift_and_gets_no_byte(
    agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "address.pdf", 1000)
    urls = [
        f"https://docs.google.com/upload/_/?{REST}",
        f"http://notebook.google.com/upload/_/?{REST}",
        f"https://evil.example/upload/_/?{REST}",
        f"/upload/_/?{REST}",
        "",
        f"https://notebook.google.com/upload/_/?authuser=grace%40example.com&{REST}",
        f"https://notebook.google.com/upload/_/?authuser=1&{REST}",
        f"https://notebook.google.com/other/?{REST}",
        f"https://notebook.google.com:8443/upload/_/?{REST}",
        f"https://x@notebook.google.com/upload/_/?{REST}",
    ]
    for url in urls:
        service.fault("upload.start", "upload_url", url=url)
        error = await refused(agent, "add_source", file_source(path))
        assert (error["code"], error["details"]["stage"]) == ("UPSTREAM_SCHEMA_DRIFT", "start"), url
        assert "upload_id" not in json.dumps(error)
    assert {upload["received_bytes"] for upload in service.control.uploads()} == {0}
    assert service.writes() == len(urls) * ["o4cbdc", "upload.start"]


# -- types (C-088, C-089) --------------------------------------------------------------------------------------------


async def test_c089_what_the_service_would_refuse_is_refused_before_a_row_is_made(
    agent: McpClient, service: Service, project: Path
) -> None:
    for name, mime_type in (("page.html", None), ("PAGE.HTM", None), ("x.txt", "text/html"), ("x.unknown", None)):
        arguments = file_source(make_file(project, name, 10))
        arguments["source"] |= {} if mime_type is None else {"mime_type": mime_type}
        assert (await refused(agent, "add_source", arguments))["code"] == "INVALID_ARGUMENT", name
    assert service.writes() == []


# -- beside others ---------------------------------------------------------------------------------------------------


async def test_small_calls_of_another_broker_are_answered_while_a_file_is_on_its_way(
    agent: McpClient, other_agent: McpClient, service: Service, project: Path
) -> None:
    path = make_file(project, "slow.pdf", HALF_BYTES)
    service.fault("upload.slice", "delay", delay_ms=200, times=None)
    received: list[int] = []
    results: list[dict[str, Any]] = []

    async def upload() -> None:
        arguments = file_source(path)
        results.append(
            await done(agent, "add_source", arguments, on_progress=lambda params: received.append(params["progress"]))
        )

    answered = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(upload)
        await service.wait_for("upload.slice")
        while not results:
            await succeed(other_agent, "list_sources")
            answered += 1
    assert answered >= 5
    assert received == sorted(set(received))
    assert_arrived(service, results[0], path)
