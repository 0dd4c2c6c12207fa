"""What the browser and the service hold in secret is on no hop of a write, in no file and no result (C-029).

The positive control is a marked title: each tap on which content passes must see it, or the tap is none.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trio

from harness.chain import Chain, open_chain
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.mcp_client import McpClient
from native_host.paths import journal_file, logs_folder
from tests.e2e.taps import Taps, tapped
from tests.e2e.tool_calls import call
from tests.e2e.writing import (
    Service,
    deletion,
    done,
    file_source,
    make_file,
    make_project,
    new_note,
    open_session,
    refused,
    settle,
    text_source,
    url_source,
)
from tests.shared import case_input

pytestmark = pytest.mark.browser

TITLE = "CONTROL-TITLE-7f3a"
SAPISID = "Qm9ndXMtc2FwaXNpZA/AcookieMARKER5x9Lk"
"""In the shape of the real one: two parts of sixteen and seventeen characters."""
MARKERS: dict[str, str] = json.loads(case_input("C-029-markers.json").read_text(encoding="utf-8"))
PARTS = ("CSRF-MARKER-1", "7777777777777777771", "COOKIE-MARKER-2", "UPLOAD-MARKER-3", "GRANT-MARKER-4", SAPISID)
"""Of the markers, what would still be a leak; the account's number is none, notes carry it (wire reference, 9)."""
SAID = "\n".join([*MARKERS.values(), f"SAPISID={SAPISID}"])
IN_HEADERS = {"x-goog-upload-url": MARKERS["upload_url"], "set-cookie": MARKERS["cookie"], "x-debug": MARKERS["csrf"]}
CODES_OF_A_REFUSAL = {"UPSTREAM_REJECTED", "AUTH_REQUIRED", "MUTATION_UNKNOWN", "UPSTREAM_SCHEMA_DRIFT"}


async def plant(chain: Chain) -> None:
    """Give the browser more cookies, with markers in them."""
    cookies = {"SAPISID": SAPISID, "__Secure-3PSID": MARKERS["cookie"].partition("=")[2]}
    await chain.connection.call(
        "Storage.setCookies",
        {
            "cookies": [
                {"name": name, "value": value, "domain": ".google.com", "path": "/", "secure": True}
                for name, value in cookies.items()
            ]
        },
    )


def refusal(http_status: int) -> dict[str, Any]:
    """A refusal that says too much, in its body and in its headers."""
    return {"fault": "http_error", "http_status": http_status, "reason": SAID, "headers": IN_HEADERS}


PAGE = {"fault": "body", "body": f"<!doctype html><script>{SAID}</script>"}
"""A web page in the place of an answer."""
FAILURES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("izAoDd", refusal(400)),
    ("izAoDd", refusal(403)),
    ("izAoDd", {"fault": "signed_out", "answer": "redirect"}),
    ("izAoDd", refusal(500)),
    ("o4cbdc", refusal(404)),
    ("CYK0Xb", refusal(401)),
    ("upload.start", refusal(400)),
    ("upload.start", {"fault": "upload_url", "url": MARKERS["upload_url"].replace("notebook.google", "example")}),
    ("upload.start", {"fault": "upload_url", "url": MARKERS["oauth_path"]}),
    ("upload.start", {"fault": "granularity", "value": MARKERS["csrf"]}),
    ("upload.finalize", refusal(400)),
)
"""Requests that fail for good; an upload that only stumbles is in `work`."""


def arguments_for(target: str, project: Path, number: int) -> tuple[str, dict[str, Any]]:
    if target.startswith("upload") or target == "o4cbdc":
        return "add_source", file_source(make_file(project, f"canary-{number}.pdf", 1000), f"{TITLE} {number}.pdf")
    return ("create_note", new_note(TITLE)) if target == "CYK0Xb" else ("add_source", text_source(TITLE))


async def fail(client: McpClient, service: Service, project: Path) -> None:
    """Let writes fail over what should not be said."""
    for number, (target, fault) in enumerate(FAILURES):
        await trio.to_thread.run_sync(service.control.add_fault, {"rpc": target, **fault, "times": None})
        envelope = await settle(client, *arguments_for(target, project, number))
        await trio.to_thread.run_sync(service.control.clear_faults)
        assert not envelope["ok"], (target, fault)
        assert envelope["error"]["code"] in CODES_OF_A_REFUSAL | {"NOT_FOUND"}, (target, envelope)
        assert envelope["error"]["message"]


async def work(client: McpClient, service: Service, project: Path) -> None:
    """Use every writing tool; the upload breaks, is asked for, and goes on."""
    await done(client, "add_source", text_source(TITLE, "Calm."))
    await done(client, "add_source", url_source("https://example.com/canary", wait_until_ready=True))
    for fault in (refusal(503), PAGE):
        await trio.to_thread.run_sync(service.control.add_fault, {"rpc": "upload.slice", **fault, "skip": 1})
        await done(client, "add_source", file_source(make_file(project, f"{fault['fault']}.pdf", 900_000), TITLE))
        await trio.to_thread.run_sync(service.control.clear_faults)
    for target in ("CYK0Xb", "cYAfTb"):  # carried out, but the answer is the page
        await trio.to_thread.run_sync(service.control.add_fault, {"rpc": target, **PAGE})
        note = await done(client, "create_note", new_note(TITLE))
    await trio.to_thread.run_sync(service.control.add_fault, {"rpc": "AH0mwd", **refusal(400)})
    await refused(client, "delete_note", deletion(note["note_id"]))
    for fault in (PAGE, refusal(400)):
        await trio.to_thread.run_sync(service.control.add_fault, {"rpc": "cFji9", **fault})
        await call(client, "list_notes")
        await trio.to_thread.run_sync(service.control.clear_faults)
    assert TITLE in json.dumps(await call(client, "list_notes"))
    await done(client, "delete_note", deletion(note["note_id"]))
    arrived = await trio.to_thread.run_sync(service.control.requests)
    assert "upload.query" in {request["rpc"] for request in arrived}


def spellings(secret: str) -> set[bytes]:
    """Return the secret as it could stand in a frame, an address or an encoded blob."""
    plain = secret.encode()
    # Base64 of a text inside of another: three shifts, without the characters that its neighbours decide.
    shifted = {b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)}
    return {plain, json.dumps(secret)[1:-1].encode(), quote(secret, safe="").encode(), plain.hex().encode(), *shifted}


def files_under(folder: Path, *but: str) -> bytes:
    paths = [path for path in folder.rglob("*") if not set(but) & set(path.relative_to(folder).parts)]
    return b"\n".join(path.read_bytes() for path in paths if path.is_file())


def what_is_written(chain: Chain) -> dict[str, bytes]:
    """Return every file that we write or make the browser write for us, by what it is."""
    journal = journal_file(chain.home)
    profile = chain.home / "profile"
    return {
        "journal": b"\n".join(path.read_bytes() for path in journal.parent.glob(f"{journal.name}*")),
        "logs": files_under(logs_folder(chain.home)),
        "home folder": files_under(chain.home, "profile", "browser-home", "tmp", "emulator"),
        "crash reports": b"\n".join(map(files_under, chain.home.rglob("*[Cc]rash*"))),
        "storage of the extension": b"\n".join(map(files_under, profile.rglob("*Extension*"))),
    }


async def test_c029_writes_leave_no_secret_on_any_hop_in_any_file_or_in_a_result(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (tapped_folder := tmp_path / "taps").mkdir()
    async with open_chain() as chain, tapped(chain, tapped_folder) as taps:
        service = Service(_control(chain))
        await plant(chain)
        with trio.fail_after(120):
            async with open_session(chain.env, EMPTY_PLAN_ID, cwd=project) as client:
                await work(client, service, project)
                await fail(client, service, project)
                live = what_is_written(chain)  # with the log that the last broker to leave takes away
        found = {
            **taps.read(),
            **what_is_written(chain),
            "journal while it is open": live["journal"],
            "results": json.dumps(client.received, ensure_ascii=False).encode(),
            "standard error": "\n".join(client.stderr_lines).encode(),
        }
        secrets = {*chain.emulator.secrets(), *PARTS}
        assert len(chain.emulator.state.uploads) >= 4
    assert_taps_work(found, taps)
    for name, data in found.items():
        for secret in secrets:
            assert not any(spelling in data for spelling in spellings(secret)), f"{name} holds {secret!r}"


def assert_taps_work(found: dict[str, bytes], taps: Taps) -> None:
    """Every tap sees the title, but for the files that by design have no content: there, what they do have."""
    without_content = {
        "standard error": None,  # nothing is said there while nothing breaks
        "crash reports": None,  # nothing has crashed
        "logs": b"broker",
        "storage of the extension": b"ada@example.com",
    }
    for name, data in found.items():
        expected = without_content.get(name, TITLE.encode())
        assert expected is None or expected in data, f"{name} is no working tap"


def _control(chain: Chain) -> Any:
    from harness.control import Control

    return Control(chain.upstream["control_url"], chain.upstream["control_token"])
