"""The upload endpoint: the three steps, resuming, what it refuses, and each of its faults."""

import hashlib
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
import pytest
import trio
from attrs import define

from cdp.polling import until
from harness.emulator import NOTEBOOK_HOSTS, Emulator
from harness.emulator.seed import EMPTY_PLAN_ID, LIGHTHOUSE_ID
from harness.emulator.uploads import MAX_HEAD_BYTES
from tests.harness.client import FORM, OPTIONS, Browser, Control, Page, Reply, connect
from tests.shared import case_input, recordings

PATH = f"/notebook/{EMPTY_PLAN_ID}"
STEP = 262_144
CONTENT = bytes(range(256)) * 3000  # 768,000 bytes: two steps and a rest
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@define
class Uploader:
    """Sends the requests that a page sends for one file."""

    page: Page
    source: str
    name: str = "notes.txt"
    content: bytes = CONTENT
    address: str = ""

    def headers(self, command: str, **more: str) -> dict[str, str]:
        fields = {name.replace("_", "-"): value for name, value in more.items()}
        origin = f"https://{self.page.host}"
        return {"origin": origin, "referer": f"{origin}/", "x-goog-upload-command": command, **fields}

    async def start(self, *, authuser: str = "0", body: dict[str, Any] | None = None, **more: str) -> Reply:
        named = {"PROJECT_ID": EMPTY_PLAN_ID, "SOURCE_NAME": self.name, "SOURCE_ID": self.source}
        fields = {
            "x_goog_upload_protocol": "resumable",
            "x_goog_upload_header_content_length": str(len(self.content)),
            "content_type": FORM,
            **more,
        }
        reply = await self.page.browser.request(
            "POST",
            f"https://{self.page.host}/upload/_/?authuser={authuser}",
            headers=self.headers("start", **fields),
            body=json.dumps(named if body is None else body).encode(),
        )
        self.address = reply.header("x-goog-upload-url") or ""
        return reply

    async def send(self, command: str, offset: int | None = None, body: bytes = b"", **more: str) -> Reply:
        fields = more if offset is None else {"x_goog_upload_offset": str(offset), **more}
        return await self.page.browser.request("POST", self.address, headers=self.headers(command, **fields), body=body)

    async def slice(self, number: int) -> Reply:
        return await self.send("upload", number * STEP, self.content[number * STEP : (number + 1) * STEP])

    async def finish(self, offset: int = 0) -> Reply:
        return await self.send("upload, finalize", offset, self.content[offset:])

    async def received(self) -> tuple[str | None, str | None]:
        reply = await self.send("query")
        return reply.header("x-goog-upload-status"), reply.header("x-goog-upload-size-received")


@pytest.fixture
async def upload(page: Page) -> Uploader:
    """A registered file that has not been started."""
    return await registered(page)


async def registered(page: Page, name: str = "notes.txt", content: bytes = CONTENT) -> Uploader:
    result = await page.result("o4cbdc", [[[name]], EMPTY_PLAN_ID, OPTIONS], PATH)
    return Uploader(page, result[0][0][0][0], name, content)


async def source(page: Page) -> list[Any]:
    (row,) = await page.result("rLM1Ne", [EMPTY_PLAN_ID, None, OPTIONS, None, 0], PATH)
    (only,) = row[1]
    return only


async def ready(page: Page) -> list[Any]:
    async def look() -> list[Any] | None:
        row = await source(page)
        return row if row[3][1] == 2 else None

    with trio.fail_after(5):
        return await until(look)


async def uploads(control: Control) -> list[dict[str, Any]]:
    return (await control.request("GET", "/uploads")).json()["uploads"]


async def test_a_whole_file_in_one_part_becomes_a_source(page: Page, upload: Uploader, control: Control) -> None:
    upload.content = "Ärger 🗼 with\nthe **lens**".encode()
    started = await upload.start()
    assert (started.status, started.body) == (200, b"")
    assert (await source(page))[3] == [None, 5]
    finished = await upload.finish()
    assert (finished.status, finished.header("x-goog-upload-status")) == (200, "final")
    assert (await source(page))[3] == [None, 1]
    row = await ready(page)
    assert (row[0], row[1], row[2][1], row[2][4]) == ([upload.source], "notes.txt", 5, 4)
    read = await page.result("hizoJc", [[upload.source], [2], [2]], PATH)
    texts = [run[2][0] for element in read[3][0][0] for run in element[2][0]]
    assert texts == ["Ärger 🗼 with", "the **lens**"]
    (shown,) = await uploads(control)
    assert shown["sha256"] == hashlib.sha256(upload.content).hexdigest()


async def test_the_answers_have_the_recorded_headers(upload: Uploader) -> None:
    start, finalize = recordings("scotty", "upload")
    upload.content = b"x"
    for reply, recorded in [(await upload.start(), start), (await upload.finish(), finalize)]:
        expected = recorded["response"]["headers"]
        assert {name for name, _ in reply.headers} >= set(expected)
        for name in set(expected) - {"x-goog-upload-url", "x-goog-upload-control-url"}:
            assert reply.header(name) == expected[name], name
        assert reply.text == recorded["response"]["body"]
    recorded_url = urlsplit(start["response"]["headers"]["x-goog-upload-url"])
    ours = urlsplit(upload.address)
    assert ours.path == recorded_url.path
    assert list(parse_qs(ours.query)) == list(parse_qs(recorded_url.query))


async def test_the_recorded_requests_are_taken_as_they_are(page: Page, upload: Uploader) -> None:
    start, finalize = (line["request"] for line in recordings("scotty", "upload"))
    origin = f"https://{page.host}"
    own = {"origin": origin, "referer": f"{origin}/"}
    named = {**json.loads(start["body"]), "PROJECT_ID": EMPTY_PLAN_ID, "SOURCE_ID": upload.source}
    dropped = {"content-length", "transfer-encoding"}
    headers = {name: value for name, value in start["headers"].items() if name not in dropped} | own
    body = json.dumps(named).encode()
    reply = await page.browser.request("POST", f"{origin}/upload/_/?authuser=0", headers=headers, body=body)
    headers = {name: value for name, value in finalize["headers"].items() if name not in dropped} | own
    address = str(reply.header("x-goog-upload-url"))
    reply = await page.browser.request("POST", address, headers=headers, body=finalize["body"].encode())
    assert (reply.status, reply.header("x-goog-upload-status")) == (200, "final")


@pytest.mark.parametrize("host", NOTEBOOK_HOSTS)
async def test_every_notebook_host_takes_uploads(browser: Browser, host: str) -> None:
    upload = await registered(await browser.open(host=host))
    await upload.start()
    assert urlsplit(upload.address).netloc == host
    assert (await upload.finish()).status == 200


async def test_slices_add_up_to_the_file(page: Page, upload: Uploader, control: Control) -> None:
    await upload.start()
    for number in (0, 1):
        reply = await upload.slice(number)
        assert (reply.status, reply.header("x-goog-upload-status")) == (200, "active")
        assert await upload.received() == ("active", str((number + 1) * STEP))
    assert (await upload.finish(2 * STEP)).status == 200
    assert await upload.received() == ("final", None)
    assert await uploads(control) == [
        {
            "source": upload.source,
            "notebook": EMPTY_PLAN_ID,
            "account": "ada@example.com",
            "name": "notes.txt",
            "size_bytes": len(CONTENT),
            "mime_type": None,
            "granularity_bytes": STEP,
            "status": "final",
            "received_bytes": len(CONTENT),
            "sha256": SHA256,
        }
    ]


async def test_the_last_step_may_bring_no_bytes(upload: Uploader, control: Control) -> None:
    upload.content = CONTENT[: 2 * STEP]
    await upload.start()
    await upload.slice(0)
    await upload.slice(1)
    assert (await upload.send("upload, finalize", 2 * STEP)).status == 200
    assert (await uploads(control))[0]["status"] == "final"


@pytest.mark.parametrize("offset", [None, 0, 2 * STEP, STEP + 1])
async def test_a_part_at_another_offset_is_refused_and_not_taken(upload: Uploader, offset: int | None) -> None:
    await upload.start()
    await upload.slice(0)
    assert (await upload.send("upload", offset, CONTENT[STEP : 2 * STEP])).status == 400
    assert await upload.received() == ("active", str(STEP))
    assert (await upload.slice(1)).status == 200


@pytest.mark.parametrize("size", [0, 1, STEP - 1, STEP + 1])
async def test_c082_a_part_that_is_not_the_last_has_to_be_whole_steps(
    upload: Uploader, control: Control, size: int
) -> None:
    await upload.start()
    assert (await upload.send("upload", 0, CONTENT[:size])).status == 400
    assert await upload.received() == ("active", "0")
    assert (await upload.finish()).status == 200
    assert (await uploads(control))[0]["sha256"] == SHA256


async def test_more_or_less_than_the_file_is_refused(upload: Uploader, control: Control) -> None:
    await upload.start()
    assert (await upload.send("upload, finalize", 0, CONTENT[:-1])).status == 400
    assert (await upload.send("upload, finalize", 0, CONTENT + b"x")).status == 400
    assert await upload.received() == ("active", "0")
    assert (await upload.finish()).status == 200
    assert (await uploads(control))[0]["sha256"] == SHA256


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"x_goog_upload_protocol": "raw"}, 400),
        ({"x_goog_upload_header_content_length": "many"}, 400),
        ({"content_type": "application/json"}, 400),
        ({"body": {"PROJECT_ID": EMPTY_PLAN_ID}}, 400),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "https://notebooklm.google.com"}, 403),
        ({"referer": "https://notebooklm.google.com/"}, 403),
        ({"x_goog_authuser": "1"}, 403),
        ({"authuser": "1"}, 403),  # Grace has nothing to do with Ada's source
        ({"x_goog_upload_header_content_type": "text/html"}, 400),
        ({"x_goog_upload_command": "begin"}, 400),
    ],
)
async def test_a_start_that_no_page_sends_is_refused(
    upload: Uploader, control: Control, changes: dict[str, Any], status: int
) -> None:
    assert (await upload.start(**changes)).status == status
    assert await uploads(control) == []


@pytest.mark.parametrize("name", ["page.html", "PAGE.HTM", "x.xhtml"])
async def test_c089_html_is_refused_after_it_was_registered(page: Page, name: str) -> None:
    upload = await registered(page, name)
    assert (await upload.start(x_goog_upload_header_content_type="text/plain")).status == 400
    assert (await source(page))[3] == [None, 5]


async def test_a_source_is_started_by_its_account_in_its_notebook_and_only_while_it_waits(upload: Uploader) -> None:
    named = {"PROJECT_ID": EMPTY_PLAN_ID, "SOURCE_NAME": "n", "SOURCE_ID": upload.source}
    assert (await upload.start(body={**named, "PROJECT_ID": LIGHTHOUSE_ID})).status == 404
    assert (await upload.start(body={**named, "SOURCE_ID": EMPTY_PLAN_ID})).status == 404
    assert (await upload.start(authuser="ada@example.com", x_goog_authuser="0")).status == 200
    assert parse_qs(urlsplit(upload.address).query)["authuser"] == ["ada@example.com"]
    await upload.finish()
    assert (await upload.start()).status == 400


async def test_a_file_may_be_started_again_from_zero(upload: Uploader, control: Control) -> None:
    """What a restarted browser does: the first session stays where it was."""
    await upload.start()
    await upload.slice(0)
    await upload.start()
    assert await upload.received() == ("active", "0")
    await upload.finish()
    shown = [(entry["status"], entry["received_bytes"]) for entry in await uploads(control)]
    assert shown == [("active", STEP), ("final", len(CONTENT))]


async def test_nobody_else_continues_an_upload(upload: Uploader, emulator: Emulator) -> None:
    await upload.start()
    upload.address = upload.address.replace("authuser=0", "authuser=1")
    assert (await upload.slice(0)).status == 403
    upload.page.browser.cookies.clear()
    assert (await upload.slice(0)).status == 401
    (session,) = emulator.state.uploads.values()
    assert session.received_bytes == 0


async def test_c083_cancelled_expired_and_unknown_sessions(upload: Uploader, control: Control) -> None:
    await upload.start()
    assert (await upload.send("cancel")).header("x-goog-upload-status") == "cancelled"
    assert await upload.received() == ("cancelled", None)
    assert (await upload.slice(0)).status == 400
    await upload.start()
    await control.change(expire_uploads=True)
    assert (await upload.send("query")).status == 404
    assert (await upload.slice(0)).status == 404
    upload.address = upload.address.replace("upload_id=", "upload_id=x")
    assert (await upload.send("query")).status == 404


async def test_what_came_before_a_broken_connection_stays(upload: Uploader, emulator: Emulator) -> None:
    """The client goes away in the middle of a part; the service keeps what it has, at any byte."""
    await upload.start()
    parts = urlsplit(upload.address)
    head = "".join(
        f"{name}: {value}\r\n"
        for name, value in [
            *upload.page.browser.fields(parts.netloc, upload.headers("upload", x_goog_upload_offset="0")),
            ("content-length", str(STEP)),
        ]
    )

    stream = await connect(emulator, parts.netloc)
    await stream.send_all(f"POST {parts.path}?{parts.query} HTTP/1.1\r\n{head}\r\n".encode() + CONTENT[:100_001])
    (session,) = emulator.state.uploads.values()

    async def arrived() -> bool:
        return session.received_bytes == 100_001

    with trio.fail_after(5):
        await until(arrived)
    await trio.aclose_forcefully(stream)
    assert await upload.received() == ("active", "100001")
    assert (await upload.finish(100_001)).status == 200
    assert session.describe()["sha256"] == SHA256


async def test_a_query_ends_what_an_older_request_still_writes(emulator: Emulator, upload: Uploader) -> None:
    await upload.start()
    (session,) = emulator.state.uploads.values()
    older = session.take_over()
    assert session.write(older, b"a")
    assert await upload.received() == ("active", "1")
    assert not session.write(older, b"b")


async def test_memory_does_not_grow_with_the_file(emulator: Emulator, page: Page) -> None:
    upload = await registered(page, content=bytes(2 * MAX_HEAD_BYTES))
    await upload.start()
    await upload.finish()
    (session,) = emulator.state.uploads.values()
    assert (session.received_bytes, len(session.head)) == (2 * MAX_HEAD_BYTES, MAX_HEAD_BYTES)
    assert session.describe()["sha256"] == hashlib.sha256(upload.content).hexdigest()


@pytest.mark.parametrize(
    ("name", "mime_type", "kind"),
    [
        ("a.pdf", "application/pdf", 3),
        ("a.md", "text/markdown", 8),
        ("a.csv", "text/csv", 16),
        ("a.m4a", "audio/mp4", 10),
        ("a.heic", "image/heic", 13),
        ("a.pdf", "text/plain", 4),
        ("a.PDF", None, 3),
        ("a.md", None, 4),
        ("a", None, 4),
    ],
)
async def test_c088_the_type_comes_from_the_mime_type_or_the_ending(
    page: Page, name: str, mime_type: str | None, kind: int
) -> None:
    upload = await registered(page, name, b"# Some words")
    more = {} if mime_type is None else {"x_goog_upload_header_content_type": mime_type}
    await upload.start(**more)
    await upload.finish()
    assert (await ready(page))[2][4] == kind


async def test_c085_names_travel_in_the_body_and_become_the_title(page: Page) -> None:
    for name in json.loads(case_input("C-085-names.json").read_text(encoding="utf-8")):
        upload = await registered(page, name, b"x")
        assert (await upload.start(x_goog_upload_header_content_type="text/plain")).status == 200
        assert (await source(page))[1] == name
        await page.result("tGMBJ", [[[upload.source]]], PATH)


async def test_requests_are_logged_without_the_upload_id(
    upload: Uploader, control: Control, emulator: Emulator
) -> None:
    await upload.start()
    await upload.slice(0)
    await upload.send("query")
    await upload.send("upload", 7, b"x")
    await upload.finish(STEP)
    logged = [entry for entry in await control.requests() if entry["path"] == "/upload/_/"]
    assert [(entry["rpc"], entry["params"]["command"], entry["status"]) for entry in logged] == [
        ("upload.start", "start", 200),
        ("upload.slice", "upload", 200),
        ("upload.query", "query", 200),
        ("upload.slice", "upload", 400),
        ("upload.finalize", "upload, finalize", 200),
    ]
    assert logged[1]["params"] == {"command": "upload", "offset": 0, "size_bytes": STEP, "source": upload.source}
    shown = [(await control.request("GET", path)).text for path in ("/requests", "/uploads", "/state")]
    (upload_id,) = emulator.state.uploads
    assert upload_id in emulator.secrets()
    assert not [secret for secret in emulator.secrets() for text in shown if secret in text]


# Faults


@pytest.mark.parametrize("announced", ["524288", "1", "100000", None, "abc", "0"])
async def test_c082_any_granularity_can_be_announced(upload: Uploader, control: Control, announced: str | None) -> None:
    await control.fault("upload.start", "granularity", value=announced)
    reply = await upload.start()
    assert reply.header("x-goog-upload-chunk-granularity") == announced
    step = int(announced) if announced not in (None, "abc", "0") else STEP
    if step > 1:
        assert (await upload.send("upload", 0, CONTENT[: step - 1])).status == 400
    assert (await upload.send("upload", 0, CONTENT[:step])).status == 200


async def test_c087_any_session_address_can_be_given(upload: Uploader, control: Control) -> None:
    other = "https://notebooklm.google.com/upload/_/?authuser=0&upload_id={upload_id}&upload_protocol=resumable"
    await control.fault("upload.start", "upload_url", url=None)
    reply = await upload.start()
    assert (reply.status, reply.header("x-goog-upload-url"), reply.header("x-goog-upload-control-url")) == (
        200,
        None,
        None,
    )
    await control.fault("upload.start", "upload_url", url=other)
    await upload.start()
    assert upload.address.startswith("https://notebooklm.google.com/upload/_/?authuser=0&upload_id=")
    upload.address = upload.address.replace("notebooklm", "notebook")  # same session on the page's own host
    assert (await upload.finish()).status == 200


@pytest.mark.parametrize("stage", ["upload.start", "upload.slice", "upload.query", "upload.finalize"])
async def test_c086_each_stage_can_be_refused_the_nth_time(upload: Uploader, control: Control, stage: str) -> None:
    await control.fault(stage, "http_error", http_status=500, skip=1)
    statuses: list[int] = []
    for _ in range(2):
        statuses.append((await upload.start()).status)
        if upload.address:
            last = upload.address
        upload.address = last
        statuses += [(await upload.slice(0)).status, (await upload.send("query")).status]
        statuses.append((await upload.send("upload, finalize", STEP, b"")).status)  # too early: 400
    position = ["upload.start", "upload.slice", "upload.query", "upload.finalize"].index(stage)
    assert [index for index, status in enumerate(statuses) if status == 500] == [4 + position]


async def test_a_fault_on_upload_means_every_stage(upload: Uploader, control: Control) -> None:
    await control.fault("upload", "http_429", retry_after_s=3, times=2)
    for _ in range(2):
        reply = await upload.start()
        assert (reply.status, reply.header("retry-after")) == (429, "3")
    assert (await upload.start()).status == 200


@pytest.mark.parametrize("kept", [0, 1, 100_000, None])
async def test_c083_a_part_can_be_cut_at_any_byte(upload: Uploader, control: Control, kept: int | None) -> None:
    await upload.start()
    await upload.slice(0)
    await control.fault("upload.slice", "cut_request", keep_bytes=kept)
    with pytest.raises(h11.RemoteProtocolError):
        await upload.slice(1)
    received = STEP + (STEP if kept is None else kept)
    assert await upload.received() == ("active", str(received))
    assert (await upload.finish(received)).status == 200
    assert (await uploads(control))[0]["sha256"] == SHA256


async def test_a_finalize_can_be_cut_when_all_bytes_are_there_and_nothing_is_final(
    page: Page, upload: Uploader, control: Control
) -> None:
    await upload.start()
    await control.fault("upload.finalize", "cut_request")
    with pytest.raises(h11.RemoteProtocolError):
        await upload.finish()
    assert await upload.received() == ("active", str(len(CONTENT)))
    assert (await source(page))[3] == [None, 5]
    assert (await upload.send("upload, finalize", len(CONTENT))).status == 200
    assert (await uploads(control))[0]["sha256"] == SHA256


async def test_the_answer_to_any_step_can_be_lost(page: Page, upload: Uploader, control: Control) -> None:
    await control.fault("upload.start", "commit_then_drop")
    with pytest.raises(h11.RemoteProtocolError):
        await upload.start()
    assert len(await uploads(control)) == 1
    await upload.start()
    await control.fault("upload.slice", "commit_then_drop")
    with pytest.raises(h11.RemoteProtocolError):
        await upload.slice(0)
    assert await upload.received() == ("active", str(STEP))
    await control.fault("upload.finalize", "commit_then_drop")
    with pytest.raises(h11.RemoteProtocolError):
        await upload.finish(STEP)
    assert await upload.received() == ("final", None)
    await ready(page)


async def test_a_finalize_can_take_effect_after_its_answer_was_lost(upload: Uploader, control: Control) -> None:
    await upload.start()
    await control.fault("upload.finalize", "drop_then_commit", delay_ms=300)
    with pytest.raises(h11.RemoteProtocolError):
        await upload.finish()
    assert await upload.received() == ("active", str(len(CONTENT)))

    async def is_final() -> bool:
        return (await upload.received())[0] == "final"

    with trio.fail_after(5):
        await until(is_final)


@pytest.mark.parametrize("answer", json.loads(case_input("C-083-query-answers.json").read_text(encoding="utf-8")))
async def test_c083_a_query_can_say_anything_and_what_can_be_true_is(
    upload: Uploader, control: Control, answer: dict[str, Any]
) -> None:
    upload.content = bytes(range(250)) * 20_000
    await upload.start()
    await upload.send("upload", 0, upload.content[: 8 * STEP])
    http_status = answer.get("http", 200)
    said = {"status": answer["status"], "size_received": answer["size_received"], "http_status": http_status}
    await control.fault("upload.query", "query_answer", **said)
    reply = await upload.send("query")
    size = answer["size_received"]
    assert reply.status == http_status
    assert reply.header("x-goog-upload-status") == answer["status"]
    assert reply.header("x-goog-upload-size-received") == (None if size is None else str(size))
    if answer["status"] == "active" and isinstance(size, int) and size <= len(upload.content):
        assert (await upload.finish(size)).status == 200
        expected = hashlib.sha256(upload.content).hexdigest() if size <= 8 * STEP else None
        assert (await uploads(control))[0]["sha256"] == expected
    elif http_status == 404:
        assert (await upload.send("query")).status == 404
    elif answer["status"] in ("final", "cancelled"):
        assert (await upload.received())[0] == answer["status"]


async def test_c079_the_reading_of_a_file_can_be_scripted_when_it_is_registered(page: Page, control: Control) -> None:
    await control.fault("o4cbdc", "ingest_states", states=[1, 3, 3, 1, 2])
    upload = await registered(page, "talk.m4a", b"x")
    assert [(await source(page))[3][1] for _ in range(3)] == [5, 5, 5]
    await upload.start(x_goog_upload_header_content_type="audio/mp4")
    await upload.finish()
    assert [(await source(page))[3][1] for _ in range(6)] == [1, 3, 3, 1, 2, 2]
