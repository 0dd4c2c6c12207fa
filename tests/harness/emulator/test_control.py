"""The control endpoint: who may use it, what it refuses and how clearly, and what each route does."""

from typing import Any

import pytest

from harness.emulator import Emulator
from harness.emulator.control import MAX_BODY_BYTES
from harness.emulator.seed import FOREIGN_ID, LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, OWN_CHAT_ID, SOURDOUGH_ID
from tests.harness.client import OPTIONS, Browser, Control, Page

LIST = [None, 1, None, OPTIONS]
ROUTES = [
    ("GET", "/state"),
    ("GET", "/uploads"),
    ("POST", "/state"),
    ("POST", "/faults"),
    ("DELETE", "/faults"),
    ("GET", "/requests"),
    ("POST", "/reset"),
]


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("OPTIONS", "/faults"), ("GET", "/nowhere")])
@pytest.mark.parametrize("credential", [None, "Bearer wrong", "Bearer", "Basic {token}", "bearer {token}", "{token}"])
async def test_nobody_gets_in_without_the_token(
    control: Control, emulator: Emulator, method: str, path: str, credential: str | None
) -> None:
    headers = {"origin": "https://notebook.google.com"}
    if credential is not None:
        headers["authorization"] = credential.format(token=emulator.control_token)
    reply = await control.request(method, path, {"signed_in": []}, headers=headers)
    assert reply.status == 401
    assert "Authorization: Bearer" in reply.json()["error"]
    assert not [name for name, _ in reply.headers if name.startswith("access-control-")]


async def test_even_the_owner_gets_no_cross_origin_headers(control: Control, emulator: Emulator) -> None:
    headers = {"authorization": f"Bearer {emulator.control_token}", "origin": "https://notebook.google.com"}
    reply = await control.request("GET", "/state", headers=headers)
    assert reply.status == 200
    assert not [name for name, _ in reply.headers if name.startswith("access-control-")]


async def test_the_state_shows_accounts_notebooks_sources_and_notes(control: Control, emulator: Emulator) -> None:
    text = (await control.request("GET", "/state")).text
    state = (await control.request("GET", "/state")).json()
    assert [account["email"] for account in state["accounts"]] == ["ada@example.com", "grace@example.com"]
    notebook = state["notebooks"][0]
    assert (notebook["id"], notebook["title"], len(notebook["sources"])) == (LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, 5)
    assert notebook["notes"][0]["title"] == "To ask Marta"
    assert state["conversations"][0]["id"] == OWN_CHAT_ID
    assert not [secret for secret in emulator.secrets() if secret in text]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b"{}", "rpc must be one of wXbhsf"),
        (b'{"rpc": "nope", "fault": "delay"}', "rpc must be one of wXbhsf"),
        (b'{"rpc": ["wXbhsf"], "fault": "delay"}', "rpc must be one of"),
        (b'{"rpc": "wXbhsf"}', "fault must be one of delay"),
        (b'{"rpc": "wXbhsf", "fault": {}}', "fault must be one of delay"),
        (b'{"rpc": "wXbhsf", "fault": "delay"}', "delay needs delay_ms"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": "9"}', "delay_ms must be a number"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": true}', "delay_ms must be a number"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": -1}', "delay_ms must be a number from 0"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": 1, "size": 2}', "delay has no size; it has delay_ms"),
        (b'{"rpc": "wXbhsf", "fault": "no_data", "x": 2}', "no_data has no x; it has no parameters"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": 1, "times": 0}', "times must be null or a whole number"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": 1, "times": true}', "times must be null or a whole number"),
        (b'{"rpc": "wXbhsf", "fault": "delay", "delay_ms": 1, "account": 1}', "account must be an e-mail address"),
        (b'{"rpc": "wXbhsf", "fault": "http_429", "retry_after_s": 1.5}', "retry_after_s must be a whole number"),
        (b'{"rpc": "wXbhsf", "fault": "http_error", "http_status": 200}', "http_status must be a whole number"),
        (b'{"rpc": "wXbhsf", "fault": "status", "code": 3, "sentence": 1}', "sentence must be a text"),
        (b'{"rpc": "wXbhsf", "fault": "status", "code": 3, "user_displayable": 1}', "user_displayable must be one of"),
        (b'{"rpc": "wXbhsf", "fault": "drift", "slot": "0"}', "slot must be a list of indexes"),
        (b'{"rpc": "wXbhsf", "fault": "drift", "slot": []}', "slot must be a list of indexes"),
        (b'{"rpc": "wXbhsf", "fault": "drift", "slot": [true]}', "slot must be a list of indexes"),
        (b'{"rpc": "wXbhsf", "fault": "drift", "slot": [0], "action": "lose"}', "action must be one of"),
        (b'{"rpc": "wXbhsf", "fault": "disconnect", "bytes": -1}', "bytes must be a whole number"),
        (b'{"rpc": "wXbhsf", "fault": "signed_out", "answer": "403"}', "answer must be one of"),
        (
            b'{"rpc": "wXbhsf", "fault": "shift_spans", "place": "runs"}',
            "shift_spans cannot be done to wXbhsf, only to stream",
        ),
        (b'{"rpc": "stream", "fault": "shift_spans", "place": "text"}', "place must be one of"),
        (b'{"rpc": "upload", "fault": "status", "code": 3}', "status cannot be done to upload"),
        (b'{"rpc": "page", "fault": "body"}', "body needs body"),
        (b'{"rpc": "wXbhsf", "fault": "no_data", "skip": -1}', "skip must be a whole number"),
        (
            b'{"rpc": "wXbhsf", "fault": "commit_then_drop"}',
            "commit_then_drop cannot be done to wXbhsf",
        ),
        (b'{"rpc": "upload", "fault": "commit_then_drop"}', "only to AH0mwd"),
        (b'{"rpc": "izAoDd", "fault": "drop_then_commit"}', "drop_then_commit needs delay_ms"),
        (b'{"rpc": "izAoDd", "fault": "slow_ingest", "seconds": "x"}', "seconds must be a number"),
        (b'{"rpc": "tGMBJ", "fault": "fail_ingest"}', "fail_ingest cannot be done to tGMBJ"),
        (b'{"rpc": "izAoDd", "fault": "ingest_states", "states": []}', "states must be a list of numbers"),
        (b'{"rpc": "izAoDd", "fault": "ingest_states", "states": [1, true]}', "states must be a list of numbers"),
        (b'{"rpc": "wXbhsf", "fault": "status", "code": 3, "commit_after_ms": 1}', "commit_after_ms needs a call that"),
        (b'{"rpc": "upload.query", "fault": "upload_url", "url": ""}', "upload_url cannot be done to upload.query"),
        (b'{"rpc": "upload.query", "fault": "query_answer", "size_received": true}', "size_received must be a whole"),
        (b'{"rpc": "upload.slice", "fault": "cut_request", "keep_bytes": -1}', "keep_bytes must be a whole number"),
    ],
)
async def test_a_fault_that_cannot_be_meant_is_refused_and_says_what_could(
    control: Control, body: bytes, reason: str
) -> None:
    reply = await control.request("POST", "/faults", raw=body)
    assert reply.status == 400
    assert reason in reply.json()["error"]
    assert (await control.request("GET", "/faults")).json() == {"faults": []}


async def test_faults_are_listed_and_cleared(page: Page, control: Control) -> None:
    await control.fault("upload", "delay", delay_ms=5, times=2)
    await control.fault("wXbhsf", "http_error", http_status=500, times=None)
    assert (await control.request("GET", "/faults")).json()["faults"] == [
        {"rpc": "upload", "fault": "delay", "times": 2, "account": None, "skip": 0, "delay_ms": 5},
        {
            "rpc": "wXbhsf",
            "fault": "http_error",
            "times": None,
            "account": None,
            "skip": 0,
            "http_status": 500,
            "commit_after_ms": None,
            "reason": "refused by a fault",
            "headers": {},
        },
    ]
    assert [(await page.call("wXbhsf", LIST)).status for _ in range(3)] == [500] * 3
    assert (await control.request("DELETE", "/faults")).json() == {"faults": []}
    assert (await page.call("wXbhsf", LIST)).status == 200


async def test_a_body_that_is_too_large_is_refused(control: Control) -> None:
    reply = await control.request("POST", "/faults", raw=b" " * (MAX_BODY_BYTES + 1))
    assert (reply.status, "the limit is" in reply.json()["error"]) == (400, True)


async def test_reset_goes_back_to_the_seed_and_keeps_browsers_signed_in(page: Page, control: Control) -> None:
    await control.change(titles={LIGHTHOUSE_ID: "Changed"}, signed_in=[], chunk_delay_ms=99)
    await control.fault("wXbhsf", "no_data", times=None)
    assert (await control.request("POST", "/reset")).json() == {"ok": True}
    state = (await control.request("GET", "/state")).json()
    assert state["notebooks"][0]["title"] == LIGHTHOUSE_TITLE
    assert state["options"]["chunk_delay_ms"] != 99
    assert await control.requests() == []
    assert len((await page.result("wXbhsf", LIST))[0]) == 7


async def test_the_request_log_can_be_emptied(page: Page, control: Control) -> None:
    await page.call("wXbhsf", LIST)
    assert len(await control.requests()) == 2
    await control.request("DELETE", "/requests")
    assert await control.requests() == []


async def test_sources_can_change_state_arrive_and_go(page: Page, control: Control) -> None:
    await control.change(source_states={"50a2ce00-0002-4a00-8b00-000000000002": 2})
    (row,) = await page.result("rLM1Ne", [SOURDOUGH_ID, None, OPTIONS, None, 0])
    assert [source[3][1] for source in row[1]] == [2, 2, 3, 5]
    ask = ("Ostrow bran", SOURDOUGH_ID, ["50a2ce00-0002-4a00-8b00-000000000002"])
    assert (await page.ask(*ask))[-1][1]
    await control.change(
        add_sources=[
            {"notebook": SOURDOUGH_ID, "title": "First", "text": "A quern of basalt.", "position": 0, "id": "new-1"},
            {"notebook": SOURDOUGH_ID, "title": "Last", "state": 1},
        ],
        remove_sources=["50a2ce00-0002-4a00-8b00-000000000003"],
    )
    (row,) = await page.result("rLM1Ne", [SOURDOUGH_ID, None, OPTIONS, None, 0])
    assert [source[1] for source in row[1]] == [
        "First",
        "Starter diary",
        "Notes on flour",
        "Crumb photographs.pdf",
        "Last",
    ]
    final = (await page.ask("basalt quern", SOURDOUGH_ID, ["new-1"]))[-1]
    assert final[1][0][5][0][0] == ["new-1"]
    await control.change(source_states={"new-1": 1})
    assert (await page.ask("basalt quern", SOURDOUGH_ID, ["new-1"]))[-1][1] is None


async def test_a_notebook_can_be_renamed(browser: Browser, control: Control) -> None:
    await control.change(titles={FOREIGN_ID: "Renamed"})
    page = await browser.open("?authuser=1")
    (row,) = await page.result("rLM1Ne", [FOREIGN_ID, None, OPTIONS, None, 0])
    assert row[0] == "Renamed"


async def test_changes_are_made_all_or_none(control: Control) -> None:
    reply = await control.request("POST", "/state", {"titles": {LIGHTHOUSE_ID: "Changed"}, "chunk_delay_ms": "slow"})
    assert reply.status == 400
    assert (await control.request("GET", "/state")).json()["notebooks"][0]["title"] == LIGHTHOUSE_TITLE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nonsense": 1}, "nonsense cannot be changed; these can: signed_out_page"),
        ({"signed_out_page": "blank"}, "'redirect' or 'bare'"),
        ({"host_redirects": []}, "must be an object"),
        ({"host_redirects": {"nobody@example.com": {}}}, "no account 'nobody@example.com'"),
        (
            {"host_redirects": {"ada@example.com": {"notebook.google.com": "evil.example"}}},
            "one notebook host to another",
        ),
        ({"chunk_delay_ms": -1}, "chunk_delay_ms must be a number"),
        ({"chunk_delay_ms": True}, "chunk_delay_ms must be a number"),
        ({"gate": "shut"}, "gate must be one of open, region, consent, wall"),
        ({"rotate_tokens": False}, "rotate_tokens must be true"),
        ({"signed_in": "ada@example.com"}, "must be a list"),
        ({"signed_in": ["ada@example.com", "ada@example.com"]}, "twice"),
        ({"signed_in": [["ada@example.com"]]}, "no account"),
        ({"source_states": {"nope": 2}}, "no source 'nope'"),
        ({"source_states": {"50a2ce00-0001-4a00-8b00-000000000001": 4}}, "must be one of [1, 2, 3, 5]"),
        ({"add_sources": {}}, "must be a list of objects"),
        ({"add_sources": [{"notebook": LIGHTHOUSE_ID}]}, "needs a text `title`"),
        ({"add_sources": [{"notebook": "x", "title": "T"}]}, "no notebook 'x'"),
        ({"add_sources": [{"notebook": LIGHTHOUSE_ID, "title": "T", "colour": 1}]}, "has no colour"),
        ({"add_sources": [{"notebook": LIGHTHOUSE_ID, "title": "T", "position": -1}]}, "position must be"),
        ({"add_sources": [{"notebook": LIGHTHOUSE_ID, "title": "T", "state": 4}]}, "state must be one of"),
        ({"remove_sources": "x"}, "must be a list"),
        ({"remove_sources": ["x"]}, "no source 'x'"),
        ({"titles": {LIGHTHOUSE_ID: 1}}, "must be a text"),
        ({"source_limits": {LIGHTHOUSE_ID: -1}}, "must be a whole number"),
        ({"source_limits": {"x": 1}}, "no notebook 'x'"),
        ({"add_notes": [{"notebook": LIGHTHOUSE_ID, "title": 1}]}, "title must be a text"),
        ({"add_notes": [{"notebook": LIGHTHOUSE_ID, "kind": 3}]}, "kind must be one of [1, 2]"),
        ({"add_notes": [{"notebook": LIGHTHOUSE_ID, "mapped_sources": "x"}]}, "must be a list of source ids"),
        ({"add_notes": [{"notebook": LIGHTHOUSE_ID, "colour": 1}]}, "has no colour"),
        ({"web_pages": {"https://a.example/": {"body": ""}}}, "has no body"),
        ({"drive_files": {"1x": {"mime_type": 1}}}, "mime_type must be a text"),
        ({"expire_uploads": False}, "expire_uploads must be true"),
        ({"titles": {"x": "T"}}, "no notebook 'x'"),
    ],
)
async def test_a_change_that_cannot_be_meant_is_refused_and_changes_nothing(
    control: Control, changes: dict[str, Any], reason: str
) -> None:
    before = (await control.request("GET", "/state")).json()
    reply = await control.request("POST", "/state", changes)
    assert reply.status == 400
    assert reason in reply.json()["error"]
    assert (await control.request("GET", "/state")).json() == before
