"""What the fake is for: scripted failures. How it answers otherwise is in `test_companion_conformance`."""

from __future__ import annotations

import math

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from broker.companion import UploadStart
from broker.errors import CompanionOffline, GatewayError, UpstreamRejected
from broker.fake_uploads import FakeUploads, UploadFailure, UploadRequest

NOTEBOOK = "n1"


async def start(uploads: FakeUploads, size_bytes: int = 10) -> UploadStart:
    return await uploads.upload_start(
        notebook=NOTEBOOK,
        source_id="s1",
        name="a.pdf",
        size_bytes=size_bytes,
        mime_type="application/pdf",
        deadline_s=math.inf,
        traceparent="00-trace",
    )


async def send(uploads: FakeUploads, upload: str, offset: int, data: bytes) -> int | None:
    reply = await uploads.upload_slice(
        notebook=NOTEBOOK, upload=upload, offset=offset, data=data, deadline_s=math.inf, traceparent="00-trace"
    )
    return reply.next_offset


async def finish(uploads: FakeUploads, upload: str) -> str:
    reply = await uploads.upload_finish(notebook=NOTEBOOK, upload=upload, deadline_s=math.inf, traceparent="00-trace")
    return reply.status


async def test_a_script_is_played_once_and_then_calls_pass() -> None:
    uploads = FakeUploads()
    uploads.fail_upload("upload.start", None, UploadFailure(CompanionOffline("gone", started=False)))
    first = await start(uploads)
    with pytest.raises(CompanionOffline):
        await start(uploads)
    third = await start(uploads)
    assert set(uploads.uploads) == {first.upload, third.upload}
    assert uploads.upload_requests == [UploadRequest("upload.start", NOTEBOOK, size_bytes=10)] * 3


async def test_a_failure_comes_before_the_effect_and_a_late_one_after_it() -> None:
    uploads = FakeUploads()
    upload = (await start(uploads)).upload
    uploads.fail_upload("upload.slice", UploadFailure(CompanionOffline("gone", started=False)))
    with pytest.raises(CompanionOffline):
        await send(uploads, upload, 0, b"01234")
    assert uploads.uploads[upload].wanted == 0
    uploads.fail_upload("upload.slice", UploadFailure(CompanionOffline("gone"), is_late=True))
    with pytest.raises(CompanionOffline):
        await send(uploads, upload, 0, b"01234")
    assert uploads.uploads[upload].wanted == 5


async def test_a_request_that_failed_at_the_service_leaves_the_page_without_an_offset() -> None:
    uploads = FakeUploads()
    upload = (await start(uploads)).upload
    uploads.fail_upload("upload.slice", UploadFailure(UpstreamRejected("HTTP 500", details={"http_status": 500})))
    with pytest.raises(GatewayError):
        await send(uploads, upload, 0, b"01234")
    assert uploads.uploads[upload].wanted is None


@given(
    content=st.binary(min_size=1, max_size=64),
    granularity_bytes=st.integers(1, 20),
    slice_bytes=st.integers(1, 30),
)
def test_any_slicing_gives_the_file_in_multiples(content: bytes, granularity_bytes: int, slice_bytes: int) -> None:
    async def main() -> None:
        uploads = FakeUploads(granularity_bytes=granularity_bytes)
        upload = (await start(uploads, len(content))).upload
        for offset in range(0, len(content), slice_bytes):
            await send(uploads, upload, offset, content[offset : offset + slice_bytes])
        assert await finish(uploads, upload) == "final"
        session = uploads.uploads[upload]
        assert bytes(session.received) == content
        *parts, last = session.posts
        assert all(size_bytes and size_bytes % granularity_bytes == 0 for size_bytes in parts)
        assert 0 < last <= granularity_bytes

    trio.run(main)
