"""The companion without a browser and the real one are held to the same answers, as the layers above see them.

The real one speaks over the relay, once with the fake host and once with the real program, to a worker whose page is
that same fake: what differs then is what the relay client would have changed on the way.
"""

from __future__ import annotations

import base64
import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
import trio

from broker.companion import Companion, RpcReply, SliceReply, UploadStatus
from broker.companions import open_companions
from broker.errors import (
    AllowlistDenied,
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    NotFound,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.fake_companion import FakeCompanion, StreamScript
from broker.fake_host import FakeCall, Script
from broker.fake_uploads import GRANULARITY_BYTES, FakeUpload, UploadFailure
from tests.broker.hosts_under_test import open_fake_side, open_real_side
from tests.broker.relay_helpers import ACCOUNT, TRACEPARENT, in_s

NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"
OTHER_NOTEBOOK = "1a2b3c4d-0002-4a00-8b00-00000000000b"
SOURCE = "5e000000-0001-4000-8000-000000000001"
SLICE_BYTES = 512 * 1024
FILE = b"".join(hashlib.sha256(n.to_bytes(4, "big")).digest() for n in range(45_000))  # five granules and a rest
assert len(FILE) % GRANULARITY_BYTES


class Rig:
    """A companion under test, and the page behind it."""

    def __init__(self, page: FakeCompanion, companion: Companion) -> None:
        self.page = page
        self.companion = companion

    async def start(self, name: str = "a.pdf", size_bytes: int = len(FILE)) -> str:
        reply = await self.companion.upload_start(
            notebook=NOTEBOOK,
            source_id=SOURCE,
            name=name,
            size_bytes=size_bytes,
            mime_type="application/pdf",
            deadline_s=in_s(20),
            traceparent=TRACEPARENT,
        )
        assert reply.granularity_bytes == self.page.granularity_bytes
        assert reply.hops
        return reply.upload

    async def send(self, upload: str, offset: int, data: bytes, *, notebook: str = NOTEBOOK) -> SliceReply:
        return await self.companion.upload_slice(
            notebook=notebook,
            upload=upload,
            offset=offset,
            data=data,
            deadline_s=in_s(20),
            traceparent=TRACEPARENT,
        )

    async def query(self, upload: str) -> UploadStatus:
        return await self.companion.upload_query(
            notebook=NOTEBOOK, upload=upload, deadline_s=in_s(20), traceparent=TRACEPARENT
        )

    async def finish(self, upload: str) -> UploadStatus:
        return await self.companion.upload_finish(
            notebook=NOTEBOOK, upload=upload, deadline_s=in_s(20), traceparent=TRACEPARENT
        )

    async def send_from(self, upload: str, offset: int) -> None:
        """Send the rest of the file in slices, going where the page wants to go on."""
        while offset < len(FILE):
            reply = await self.send(upload, offset, FILE[offset : offset + SLICE_BYTES])
            assert reply.next_offset is not None
            assert reply.next_offset > offset
            offset = reply.next_offset

    def session(self, upload: str) -> FakeUpload:
        return self.page.uploads[upload]


def worker_with(page: FakeCompanion) -> Script:
    """Play the worker: hand each call to the page, and its errors back as the worker words them."""

    async def script(call: FakeCall) -> None:
        try:
            await answer(call)
        except GatewayError as error:
            await call.fail(str(error.code), error.message, started=error.started, detail=error.details)

    async def answer(call: FakeCall) -> None:
        given: dict[str, Any] = dict(call.params)
        when: dict[str, Any] = {"deadline_s": math.inf, "traceparent": TRACEPARENT}
        notebook = call.notebook or ""
        match call.op:
            case "rpc":
                reply = await page.rpc(given["rpc"], given["params"], notebook=call.notebook, **when)
                value = {"status": reply.status, "body": reply.body, "retry_after_s": reply.retry_after_s}
                await call.succeed(value, **reply.hops)
            case "identity":
                identity = await page.identity(refresh=given["refresh"], **when)
                await call.succeed(
                    {"account": identity.account, "origin": identity.origin, "build_label": identity.build_label}
                )
            case "status":
                await call.succeed(await page.status(**when))
            case "stream":
                async with page.stream(given["params"], notebook=notebook, **when) as chunks:
                    async for text in chunks:
                        await call.chunk(text)
                    await call.succeed({"status": chunks.status, "conversation": chunks.conversation})
            case "upload.start":
                given["source_id"] = given.pop("source")
                started = await page.upload_start(notebook=notebook, **given, **when)
                await call.succeed(
                    {"upload": started.upload, "granularity_bytes": started.granularity_bytes}, **started.hops
                )
            case "upload.slice":
                given["data"] = base64.b64decode(given["data"], validate=True)
                taken = await page.upload_slice(notebook=notebook, **given, **when)
                await call.succeed({"next_offset": taken.next_offset, "received_bytes": taken.received_bytes})
            case "upload.query" | "upload.finish":
                ask = page.upload_query if call.op == "upload.query" else page.upload_finish
                told = await ask(notebook=notebook, **given, **when)
                await call.succeed({"status": told.status, "received_bytes": told.received_bytes})
            case _:
                raise AssertionError(call.op)

    return script


@pytest.fixture(params=["fake companion", "over the fake host", "over the real host"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    page = FakeCompanion()
    if request.param == "fake companion":
        yield Rig(page, page)
        return
    open_side = open_fake_side if request.param == "over the fake host" else open_real_side
    async with open_side(tmp_path) as host:
        host.script = worker_with(page)
        await host.say_ready(ACCOUNT)
        async with open_companions(tmp_path, ACCOUNT) as companions:
            yield Rig(page, companions)


async def test_a_request_arrives_as_it_was_sent_and_its_answer_comes_back(rig: Rig) -> None:
    rig.page.answer("rLM1Ne", RpcReply(429, "é𝄞\u2028", 1.5))
    reply = await rig.companion.rpc(
        "rLM1Ne", ["é𝄞", None, 1.5], notebook=NOTEBOOK, deadline_s=in_s(20), traceparent=TRACEPARENT
    )
    assert (reply.status, reply.body, reply.retry_after_s) == (429, "é𝄞\u2028", 1.5)
    (request,) = rig.page.sent("rLM1Ne")
    assert (request.params, request.notebook) == (["é𝄞", None, 1.5], NOTEBOOK)


async def test_identity_status_and_streams_are_the_pages(rig: Rig) -> None:
    when: Any = {"deadline_s": in_s(20), "traceparent": TRACEPARENT}
    rig.page.streams = [StreamScript(["a", "b"], conversation="c1")]
    assert (await rig.companion.identity(refresh=True, **when)).account == ACCOUNT
    assert (await rig.companion.status(**when))["account"] == ACCOUNT
    async with rig.companion.stream(["q"], notebook=NOTEBOOK, **when) as chunks:
        assert [text async for text in chunks] == ["a", "b"]
        assert (chunks.status, chunks.conversation) == (200, "c1")


async def test_c082_a_file_arrives_whole_in_multiples_of_the_granularity(rig: Rig) -> None:
    upload = await rig.start()
    await rig.send_from(upload, 0)
    told = await rig.finish(upload)
    assert (told.status, told.received_bytes) == ("final", len(FILE))
    session = rig.session(upload)
    assert bytes(session.received) == FILE
    assert session.posts == [2 * GRANULARITY_BYTES] * 2 + [GRANULARITY_BYTES, len(FILE) % GRANULARITY_BYTES]
    assert (session.notebook, session.source_id, session.mime_type) == (NOTEBOOK, SOURCE, "application/pdf")


@pytest.mark.parametrize("granularity_bytes", [1, 100_000, 1_048_576, 2_097_152])
async def test_c082_whatever_the_service_asks_for_the_last_part_goes_with_the_end(
    rig: Rig, granularity_bytes: int
) -> None:
    rig.page.granularity_bytes = granularity_bytes
    upload = await rig.start()
    await rig.send_from(upload, 0)
    await rig.finish(upload)
    *parts, last = rig.session(upload).posts
    assert [size % granularity_bytes for size in parts] == [0] * len(parts)
    assert last > 0
    assert bytes(rig.session(upload).received) == FILE


async def test_a_slice_is_counted_before_the_service_has_it(rig: Rig) -> None:
    upload = await rig.start()
    reply = await rig.send(upload, 0, FILE[: GRANULARITY_BYTES + 5])
    assert (reply.next_offset, reply.received_bytes) == (GRANULARITY_BYTES + 5, GRANULARITY_BYTES)
    assert reply.hops


@pytest.mark.parametrize("name", ["a.pdf", "Ünï ” 日本語 😀.pdf", 'q"uo\\te\n.pdf', "x" * 240])
async def test_c085_a_file_keeps_its_name(rig: Rig, name: str) -> None:
    assert rig.session(await rig.start(name)).name == name


async def test_c083_after_a_reload_nothing_is_taken_until_the_service_was_asked(rig: Rig) -> None:
    upload = await rig.start()
    await rig.send(upload, 0, FILE[:300_000])
    rig.page.reload_page()
    reply = await rig.send(upload, 300_000, FILE[300_000:600_000])
    assert (reply.next_offset, reply.received_bytes) == (None, None)
    told = await rig.query(upload)
    assert (told.status, told.received_bytes) == ("active", GRANULARITY_BYTES)
    await rig.send_from(upload, GRANULARITY_BYTES)
    await rig.finish(upload)
    assert bytes(rig.session(upload).received) == FILE


async def test_another_offset_than_the_wanted_one_is_not_taken(rig: Rig) -> None:
    upload = await rig.start()
    await rig.send(upload, 0, FILE[:SLICE_BYTES])
    for offset in (0, SLICE_BYTES - 1, SLICE_BYTES + 1):
        assert (await rig.send(upload, offset, b"x")).next_offset is None
    assert (await rig.send(upload, SLICE_BYTES, FILE[SLICE_BYTES : 2 * SLICE_BYTES])).next_offset == 2 * SLICE_BYTES


async def test_c083_a_query_makes_the_page_forget_what_it_had_gathered(rig: Rig) -> None:
    upload = await rig.start()
    await rig.send(upload, 0, FILE[:1000])
    assert (await rig.query(upload)).received_bytes == 0
    assert (await rig.send(upload, 1000, FILE[1000:2000])).next_offset is None
    assert (await rig.send(upload, 0, FILE[:2000])).next_offset == 2000


@pytest.mark.parametrize("word", ["cancelled", "expired"])
async def test_c083_a_session_that_the_service_has_ended_says_so(rig: Rig, word: Any) -> None:
    upload = await rig.start()
    rig.session(upload).status = word
    told = await rig.query(upload)
    assert (told.status, told.received_bytes) == (word, None)


async def test_an_unfinished_file_is_not_finished(rig: Rig) -> None:
    upload = await rig.start()
    await rig.send(upload, 0, FILE[:SLICE_BYTES])
    with pytest.raises(InvalidArgument) as caught:
        await rig.finish(upload)
    assert (caught.value.details, caught.value.started) == ({"reason": "incomplete"}, False)
    assert (await rig.query(upload)).status == "active"


async def test_a_browser_that_was_restarted_knows_no_upload(rig: Rig) -> None:
    upload = await rig.start()
    rig.page.restart_browser()
    for attempt in (lambda: rig.send(upload, 0, b"x"), lambda: rig.query(upload), lambda: rig.finish(upload)):
        with pytest.raises(NotFound) as caught:
            await attempt()
        assert (caught.value.details, caught.value.started) == ({"reason": "unknown_upload"}, False)


async def test_an_upload_is_its_own_notebooks(rig: Rig) -> None:
    upload = await rig.start()
    with pytest.raises(AllowlistDenied) as caught:
        await rig.send(upload, 0, b"x", notebook=OTHER_NOTEBOOK)
    assert not caught.value.started
    assert (await rig.query(upload)).received_bytes == 0


async def test_a_refused_part_leaves_the_page_without_an_offset(rig: Rig) -> None:
    upload = await rig.start()
    refused = UpstreamRejected("HTTP 503", details={"http_status": 503, "stage": "slice"})
    rig.page.fail_upload("upload.slice", None, UploadFailure(refused))
    await rig.send(upload, 0, FILE[:SLICE_BYTES])
    with pytest.raises(UpstreamRejected) as caught:
        await rig.send(upload, SLICE_BYTES, b"x")
    assert (caught.value.details, caught.value.started) == ({"http_status": 503, "stage": "slice"}, True)
    assert (await rig.send(upload, SLICE_BYTES, b"x")).next_offset is None
    assert (await rig.query(upload)).received_bytes == SLICE_BYTES


async def test_c086_the_effect_of_a_lost_answer_is_seen_by_asking(rig: Rig) -> None:
    lost = UploadFailure(UpstreamRejected("the answer was lost"), is_late=True)
    rig.page.fail_upload("upload.finish", lost)
    upload = await rig.start()
    await rig.send_from(upload, 0)
    with pytest.raises(UpstreamRejected):
        await rig.finish(upload)
    assert (await rig.query(upload)).status == "final"
    assert bytes(rig.session(upload).received) == FILE


async def test_c087_a_session_without_a_usable_address_is_drift(rig: Rig) -> None:
    rig.page.fail_upload(
        "upload.start", UploadFailure(UpstreamSchemaDrift("upload", "x-goog-upload-url", "an address"))
    )
    with pytest.raises(UpstreamSchemaDrift) as caught:
        await rig.start()
    assert caught.value.details["path"] == "x-goog-upload-url"
    assert caught.value.started


async def test_a_passed_deadline_means_that_nothing_was_sent(rig: Rig) -> None:
    upload = await rig.start()
    with pytest.raises(DeadlineExceeded) as caught:
        await rig.companion.upload_slice(
            notebook=NOTEBOOK,
            upload=upload,
            offset=0,
            data=b"x",
            deadline_s=trio.current_time() - 1,
            traceparent=TRACEPARENT,
        )
    assert not caught.value.started
    assert [request.op for request in rig.page.upload_requests] == ["upload.start"]
