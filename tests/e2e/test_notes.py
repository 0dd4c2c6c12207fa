"""`create_note`, `list_notes` and `delete_note` through the whole chain."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from harness.emulator.seed import LIGHTHOUSE_ID, TRAMS_ID
from harness.mcp_client import McpClient, ServerGone
from tests.e2e.raw_broker import RawBroker, open_raw_broker
from tests.e2e.test_confinement import LIGHTHOUSE_SOURCE, assert_refused
from tests.e2e.tool_calls import call as call_tool
from tests.e2e.tool_calls import fail, succeed
from tests.e2e.writing import Service, deletion, done, new_note, open_session, refused
from tests.shared import case_input

pytestmark = pytest.mark.browser


async def test_c072_a_note_is_created_listed_and_deleted_and_no_source_is_ever_touched(
    agent: McpClient, service: Service
) -> None:
    arguments = new_note("Ebb – 潮 😀", 'One.\n\n* \u2028 "two" \\ e\u0301 \x01')
    created = await done(agent, "create_note", arguments)
    assert (created["status"], created["title"], created["replayed"]) == ("created", "Ebb – 潮 😀", False)
    (listed,) = (await succeed(agent, "list_notes"))["notes"]
    assert (listed["id"], listed["title"], listed["content"]) == (
        created["note_id"],
        arguments["title"],
        arguments["content"],
    )
    assert [note["text"] for note in service.live_notes()] == [arguments["content"]]
    gone = deletion(created["note_id"])
    assert (await done(agent, "delete_note", gone))["status"] == "deleted"
    assert (await succeed(agent, "list_notes"))["notes"] == []
    assert service.live_notes() == []
    assert (await done(agent, "delete_note", gone))["replayed"] is True
    assert "deleted already" in (await refused(agent, "delete_note", deletion(created["note_id"])))["message"]
    assert service.writes() == ["CYK0Xb", "cYAfTb", "AH0mwd"]


async def test_c072_only_ids_from_the_list_of_notes_can_be_deleted(agent: McpClient, service: Service) -> None:
    """Not the id of a source, of a mind map, of what is left of a deleted note, or of another notebook's note."""
    here = service.notebook()["id"]
    service.control.change_state(
        {
            "add_sources": [{"notebook": here, "title": "Source", "text": "x"}],
            "add_notes": [
                {"notebook": here, "title": "Map", "text": "{}", "kind": 2, "mapped_sources": [LIGHTHOUSE_SOURCE]},
                {"notebook": here, "title": "Stub", "deleted": True},
                {"notebook": TRAMS_ID, "title": "Theirs", "text": "x"},
            ],
        }
    )
    forbidden = [*service.sources(), *service.notebook()["notes"], *service.live_notes(TRAMS_ID)]
    assert len(forbidden) == 4
    for item in forbidden:
        assert (await refused(agent, "delete_note", deletion(item["id"])))["code"] == "NOT_FOUND", item
    assert service.writes() == []
    assert (await succeed(agent, "list_notes"))["notes"] == []


@pytest.mark.parametrize(
    ("name", "titles"), [("C-074-notes-mixed.txt", {"One", "Four"}), ("C-074-notes-never.txt", set[str]())]
)
async def test_c074_the_service_s_list_is_shown_without_stubs_and_mind_maps(
    agent: McpClient, service: Service, name: str, titles: set[str]
) -> None:
    service.fault("cFji9", "body", body=case_input(name).read_text(encoding="utf-8"))
    assert {note["title"] for note in (await succeed(agent, "list_notes"))["notes"]} == titles


async def test_a_note_in_another_shape_is_drift_with_its_path_and_nothing_is_written(
    agent: McpClient, service: Service
) -> None:
    service.control.change_state({"add_notes": [{"notebook": service.notebook()["id"], "title": "t", "text": "x"}]})
    service.fault("cFji9", "drift", slot=[0, 0, 1], action="retype", times=None)
    for tool, arguments in (("list_notes", {}), ("create_note", new_note())):
        error = await fail(agent, tool, arguments)
        assert error["code"] == "UPSTREAM_SCHEMA_DRIFT"
        assert error["details"]["rpc_id"] == "cFji9"
        assert error["details"]["path"].startswith("$")
    assert service.writes() == []


# -- two requests (C-073) --------------------------------------------------------------------------------------------


NO_TEXT: list[dict[str, Any]] = [
    {"fault": "drop_then_commit", "delay_ms": 3_600_000},
    {"fault": "status", "code": 13},
    {"fault": "http_error", "http_status": 400},
    {"fault": "http_error", "http_status": 503},
]
"""Why a note's text did not arrive. They are tried at the same time, since each is looked up for some seconds."""


async def test_c073_a_note_without_its_text_is_told_of_and_the_repeat_finishes_it_unless_a_person_wrote_into_it(
    agent: McpClient, service: Service, chain: dict[str, Any]
) -> None:
    calls: dict[str, dict[str, Any]] = {}
    for number, fault in enumerate(NO_TEXT):
        service.control.add_fault({"rpc": "cYAfTb", "skip": number, **fault})
        calls[f"note {number}"] = new_note(f"note {number}", f"The text of note {number}.")
    errors: dict[str, dict[str, Any]] = {}

    async def create(title: str) -> None:
        errors[title] = await refused(agent, "create_note", calls[title])

    async with trio.open_nursery() as nursery:
        for title in calls:
            nursery.start_soon(create, title)
    ids = {title: error["details"]["note_id"] for title, error in errors.items()}
    assert {error["code"] for error in errors.values()} == {"MUTATION_UNKNOWN"}
    assert all("text may be missing" in error["message"] for error in errors.values())
    assert {note["id"]: note["text"] for note in service.live_notes()} == dict.fromkeys(ids.values(), "")

    *repeated, theirs = calls
    await write_as_person(chain, service.notebook()["id"], ids[theirs], "mine now")
    for title in repeated:
        assert (await done(agent, "create_note", calls[title]))["note_id"] == ids[title]
    error = await refused(agent, "create_note", calls[theirs])
    assert (error["code"], error["details"]["note_id"]) == ("MUTATION_UNKNOWN", ids[theirs])
    expected = {ids[title]: calls[title]["content"] for title in repeated} | {ids[theirs]: "mine now"}
    assert {note["id"]: note["text"] for note in service.live_notes()} == expected
    assert service.writes().count("CYK0Xb") == len(NO_TEXT)


async def write_as_person(chain: dict[str, Any], notebook_id: str, note_id: str, content: str) -> None:
    """Write into a note as its person may do in the page at any time."""
    fill: list[Any] = [notebook_id, note_id, [[[content, "Mine", [], 0]]]]
    async with open_raw_broker(chain["socket"]) as person:
        await read_notes(person, notebook_id)
        assert (await person.call("rpc", {"rpc": "cYAfTb", "params": fill}, notebook=notebook_id))["ok"]


async def read_notes(raw: RawBroker, notebook_id: str) -> None:
    """Read a notebook's notes, so that the extension knows whose they are."""
    assert (await raw.call("rpc", {"rpc": "cFji9", "params": [notebook_id]}, notebook=notebook_id))["ok"]


async def test_c073_a_broker_killed_between_the_two_requests_leaves_a_note_that_the_repeat_fills(
    agent: McpClient, service: Service, chain: dict[str, Any]
) -> None:
    arguments = new_note()
    async with open_session(chain["env"]) as doomed:
        # The list is read before the note is created, after that, and before the note is filled.
        service.fault("cFji9", "delay", delay_ms=60_000, skip=2)

        async def create() -> None:
            with pytest.raises(ServerGone):
                await call_tool(doomed, "create_note", arguments)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(create)
            await service.wait_for("cFji9", 3)
            doomed.process.kill()
    (empty,) = service.live_notes()
    assert empty["text"] == ""
    created = await done(agent, "create_note", arguments)
    assert created["note_id"] == empty["id"]
    assert [note["text"] for note in service.live_notes()] == [arguments["content"]]
    assert service.writes() == ["CYK0Xb", "cYAfTb"]


# -- answers that are lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rpc", ["CYK0Xb", "cYAfTb"])
async def test_a_lost_answer_to_either_request_is_looked_up_and_the_note_is_whole(
    agent: McpClient, service: Service, rpc: str
) -> None:
    service.fault(rpc, "commit_then_drop")
    arguments = new_note()
    created = await done(agent, "create_note", arguments)
    assert [(note["id"], note["text"]) for note in service.live_notes()] == [(created["note_id"], arguments["content"])]
    assert service.writes() == ["CYK0Xb", "cYAfTb"]


async def test_a_deletion_whose_answer_is_lost_is_looked_up(agent: McpClient, service: Service) -> None:
    created = await done(agent, "create_note", new_note())
    service.fault("AH0mwd", "commit_then_drop")
    assert (await done(agent, "delete_note", deletion(created["note_id"])))["status"] == "deleted"
    assert service.live_notes() == []
    assert service.writes().count("AH0mwd") == 1


# -- the extension's own side ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rpc", ["AH0mwd", "cYAfTb"])
async def test_a_raw_broker_reaches_no_note_of_another_notebook(
    service: Service, chain: dict[str, Any], rpc: str
) -> None:
    service.control.change_state({"add_notes": [{"notebook": TRAMS_ID, "title": "Theirs", "text": "x"}]})
    (foreign,) = service.live_notes(TRAMS_ID)
    params: dict[str, list[Any]] = {
        "AH0mwd": [LIGHTHOUSE_ID, None, [foreign["id"]]],
        "cYAfTb": [LIGHTHOUSE_ID, foreign["id"], [[["x", "y", [], 0]]]],
    }
    call = {"rpc": rpc, "params": params[rpc]}
    async with open_raw_broker(chain["socket"]) as raw:
        await read_notes(raw, LIGHTHOUSE_ID)
        await read_notes(raw, TRAMS_ID)
        service.control.clear_requests()
        await assert_refused(raw, service.control, "ALLOWLIST_DENIED", "rpc", call, notebook=LIGHTHOUSE_ID)
    assert [note["text"] for note in service.live_notes(TRAMS_ID)] == ["x"]
