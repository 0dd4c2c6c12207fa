"""Writes and uploads in a real Chrome, from a broker with no manners: what the extension carries out, and what not."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
import trio

from harness.emulator.seed import LIGHTHOUSE_ID, UNLISTED_ID
from tests.e2e.raw_broker import RawBroker, open_raw_broker
from tests.e2e.test_confinement import LIGHTHOUSE_SOURCE, OPTIONS, UNLISTED_SOURCE, assert_refused, read_notebook

pytestmark = pytest.mark.browser

SLICE_BYTES = 512 * 1024
CREATE = {"rpc": "CYK0Xb", "params": [LIGHTHOUSE_ID, "", [1], None, "New Note"]}
UNKNOWN_ID = "deadbeef-0001-4a00-8b00-00000000000a"


def result_of(got: dict[str, Any], rpc: str) -> Any:
    """Return the decoded result of an rpc call's raw body."""
    assert got["ok"], got
    rows = [row for line in got["value"]["body"].splitlines() if line.startswith("[") for row in json.loads(line)]
    return next(json.loads(row[2]) for row in rows if row[0] == "wrb.fr" and row[1] == rpc)


async def rpc(raw: RawBroker, rpc_id: str, params: list[Any]) -> Any:
    """Make one call for the lighthouse notebook and return its result."""
    return result_of(await raw.call("rpc", {"rpc": rpc_id, "params": params}, notebook=LIGHTHOUSE_ID), rpc_id)


@pytest.fixture
async def broker(chain: Any, control: Any) -> Any:
    """A broker that has read the lighthouse notebook."""
    async with open_raw_broker(chain["socket"]) as raw:
        await rpc(raw, "rLM1Ne", read_notebook(LIGHTHOUSE_ID)["params"])
        control.clear_requests()
        yield raw


async def live_notes(raw: RawBroker) -> list[str]:
    rows = (await rpc(raw, "cFji9", [LIGHTHOUSE_ID]))[0] or []
    return [row[0] for row in rows if row[1] is not None]


async def test_a_note_is_written_and_deleted_once_the_notes_have_been_read(broker: RawBroker, control: Any) -> None:
    before = await live_notes(broker)
    note_id = (await rpc(broker, "CYK0Xb", CREATE["params"]))[0][0]
    fill = {"rpc": "cYAfTb", "params": [LIGHTHOUSE_ID, note_id, [[["text 😀", "title", [], 0]]]]}
    control.clear_requests()
    # Not even the answer to our own write makes an id ours: only the list of the notebook's notes does.
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "rpc", fill, notebook=LIGHTHOUSE_ID)
    assert set(await live_notes(broker)) == {*before, note_id}
    assert (await rpc(broker, "cYAfTb", fill["params"]))[0][1] == "text 😀"
    await rpc(broker, "AH0mwd", [LIGHTHOUSE_ID, None, [note_id]])
    assert await live_notes(broker) == before


@pytest.mark.parametrize(
    ("rpc_id", "params", "code"),
    [
        ("tGMBJ", [[[LIGHTHOUSE_SOURCE]]], "INVALID_ARGUMENT"),
        ("WWINqb", [[LIGHTHOUSE_ID], [2]], "INVALID_ARGUMENT"),
        ("AH0mwd", [LIGHTHOUSE_ID, None, [LIGHTHOUSE_SOURCE]], "ALLOWLIST_DENIED"),
        ("AH0mwd", [LIGHTHOUSE_ID, None, [UNKNOWN_ID]], "ALLOWLIST_DENIED"),
        ("AH0mwd", [LIGHTHOUSE_ID, None, []], "INVALID_ARGUMENT"),
        ("CYK0Xb", [UNLISTED_ID, "", [1], None, "New Note"], "ALLOWLIST_DENIED"),
        ("o4cbdc", [[["a.txt"]], UNLISTED_ID, OPTIONS], "ALLOWLIST_DENIED"),
        (
            "izAoDd",
            [[[None, None, ["file:///etc/passwd"], *[None] * 7, 1]], LIGHTHOUSE_ID, OPTIONS],
            "INVALID_ARGUMENT",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_c072_a_forged_write_is_refused_and_nothing_is_sent(
    broker: RawBroker, control: Any, rpc_id: str, params: list[Any], code: str
) -> None:
    call = {"rpc": rpc_id, "params": params}
    await assert_refused(broker, control, code, "rpc", call, notebook=LIGHTHOUSE_ID)


@pytest.mark.parametrize("source", [UNLISTED_SOURCE, UNKNOWN_ID])
async def test_an_upload_for_a_source_of_no_allowed_notebook_is_refused(
    broker: RawBroker, control: Any, source: str
) -> None:
    start = {"source": source, "name": "a.txt", "size_bytes": 1, "mime_type": "text/plain"}
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "upload.start", start, notebook=LIGHTHOUSE_ID)


async def test_a_write_that_was_cancelled_on_its_way_is_answered_all_the_same(broker: RawBroker, control: Any) -> None:
    before = await live_notes(broker)
    control.add_fault({"rpc": "CYK0Xb", "fault": "delay", "delay_ms": 1500})
    frame = broker.call_frame("rpc", CREATE, notebook=LIGHTHOUSE_ID)
    await broker.send(frame)
    for _ in range(500):
        if any(entry["rpc"] == "CYK0Xb" for entry in control.requests()):
            break
        await trio.sleep(0.02)
    await broker.send({"type": "cancel", "id": frame["id"], "reason": "deadline"})
    note_id = result_of(await broker.result_of(frame["id"]), "CYK0Xb")[0][0]
    assert set(await live_notes(broker)) == {*before, note_id}


async def start_upload(raw: RawBroker, file: bytes, name: str) -> dict[str, Any]:
    """Register a file, read the notebook and start its upload; returns the value of the start."""
    stubs = (await rpc(raw, "o4cbdc", [[[name]], LIGHTHOUSE_ID, OPTIONS]))[0]
    await rpc(raw, "rLM1Ne", read_notebook(LIGHTHOUSE_ID)["params"])
    start = {"source": stubs[0][0][0], "name": name, "size_bytes": len(file), "mime_type": "text/plain"}
    got = await raw.call("upload.start", start, notebook=LIGHTHOUSE_ID)
    assert got["ok"], got
    return got["value"]


async def step(raw: RawBroker, op: str, **params: Any) -> dict[str, Any]:
    got = await raw.call(f"upload.{op}", params, notebook=LIGHTHOUSE_ID)
    assert got["ok"], got
    return got["value"]


async def test_c082_a_file_arrives_whole_and_its_session_address_never_leaves_the_browser(
    broker: RawBroker, control: Any
) -> None:
    file = hashlib.shake_128(b"seed").digest(1_300_001)
    control.add_fault({"rpc": "upload.start", "fault": "granularity", "value": "1048576"})
    value = await start_upload(broker, file, "Übersicht – März 😀.txt")
    assert set(value) == {"upload", "granularity_bytes"}
    assert value["granularity_bytes"] == 1_048_576
    offset = 0
    while offset < len(file):
        data = base64.b64encode(file[offset : offset + SLICE_BYTES]).decode()
        offset = (await step(broker, "slice", upload=value["upload"], offset=offset, data=data))["next_offset"]
    assert await step(broker, "query", upload=value["upload"]) == {"status": "active", "received_bytes": 1_048_576}
    data = base64.b64encode(file[1_048_576:]).decode()
    assert (await step(broker, "slice", upload=value["upload"], offset=1_048_576, data=data))["next_offset"] == len(
        file
    )
    assert (await step(broker, "finish", upload=value["upload"]))["status"] == "final"
    (upload,) = control.uploads()
    assert (upload["name"], upload["status"]) == ("Übersicht – März 😀.txt", "final")
    assert upload["sha256"] == hashlib.sha256(file).hexdigest()


async def test_c087_a_session_address_elsewhere_is_drift_and_gets_no_byte(broker: RawBroker, control: Any) -> None:
    stubs = (await rpc(broker, "o4cbdc", [[["a.txt"]], LIGHTHOUSE_ID, OPTIONS]))[0]
    await rpc(broker, "rLM1Ne", read_notebook(LIGHTHOUSE_ID)["params"])
    start = {"source": stubs[0][0][0], "name": "a.txt", "size_bytes": 5, "mime_type": "text/plain"}
    for address in ("https://evil.example/upload/_/?upload_id={upload_id}", None):
        control.add_fault({"rpc": "upload.start", "fault": "upload_url", "url": address})
        got = await broker.call("upload.start", start, notebook=LIGHTHOUSE_ID)
        assert (got["error"]["code"], got["error"]["started"]) == ("UPSTREAM_SCHEMA_DRIFT", True)
        assert got["error"]["detail"]["path"] == "x-goog-upload-url"
        assert "upload_id" not in json.dumps(got)
        control.clear_faults()
