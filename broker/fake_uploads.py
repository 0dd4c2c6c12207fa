"""The upload methods of a companion, kept in memory: a page that gathers, and a service that takes multiples.

For `broker.fake_companion` and for other companions without a browser. What a session is put through is scripted:
failures before or after the effect, a page that is reloaded, a browser that forgets, a service that ends the session.
"""

from __future__ import annotations

from typing import Literal

import trio
from attrs import define, field, frozen

from broker.companion import SliceReply, UploadStart, UploadState, UploadStatus
from broker.errors import AllowlistDenied, DeadlineExceeded, GatewayError, InvalidArgument, NotFound

UploadOp = Literal["upload.start", "upload.slice", "upload.query", "upload.finish"]
GRANULARITY_BYTES = 262_144
"""What the service announces (recorded)."""


@frozen
class UploadRequest:
    """One upload call that arrived. `offset` and `size_bytes` are those of a slice; a start has the file's size."""

    op: UploadOp
    notebook: str
    upload: str | None = None
    offset: int | None = None
    size_bytes: int | None = None


@frozen
class UploadFailure:
    """In a script: the call fails with `error`; with `is_late` after it had its effect, as when an answer is lost."""

    error: GatewayError
    is_late: bool = False


@define(eq=False)
class FakeUpload:
    """One session. Change `status` to what the service shall say of it."""

    # Invariant: wanted is None or len(received) + len(gathered).

    notebook: str
    source_id: str
    name: str
    size_bytes: int
    mime_type: str
    status: UploadState = "active"
    received: bytearray = field(factory=bytearray, repr=False)
    gathered: bytearray = field(factory=bytearray, repr=False)
    wanted: int | None = 0
    posts: list[int] = field(factory=list[int])
    """Sizes of what the page sent to the service; the last one is the finalisation's."""

    def forget(self) -> None:
        """Be a page that was reloaded."""
        self.gathered.clear()
        self.wanted = None

    def post(self, size_bytes: int) -> None:
        self.received += self.gathered[:size_bytes]
        del self.gathered[:size_bytes]
        self.posts.append(size_bytes)


@define(eq=False, kw_only=True)
class FakeUploads:
    """Implements the upload methods of `broker.companion.Companion`.

    `upload_script` has the failures per op: each call takes the next entry, None lets it pass; an empty script does so
    too.
    """

    granularity_bytes: int = GRANULARITY_BYTES
    uploads: dict[str, FakeUpload] = field(factory=dict[str, FakeUpload])
    upload_script: dict[UploadOp, list[UploadFailure | None]] = field(
        factory=dict[UploadOp, "list[UploadFailure | None]"]
    )
    upload_requests: list[UploadRequest] = field(factory=list[UploadRequest])

    def fail_upload(self, op: UploadOp, *script: UploadFailure | None) -> None:
        """Set what the next calls of `op` meet."""
        self.upload_script[op] = list(script)

    def reload_page(self) -> None:
        """Be a page that was loaded anew: what it had gathered is gone, sessions are not."""
        for upload in self.uploads.values():
            upload.forget()

    def restart_browser(self) -> None:
        """Be a browser, or an extension, that was started anew: it knows no session any more."""
        self.uploads.clear()

    async def upload_start(
        self,
        *,
        notebook: str,
        source_id: str,
        name: str,
        size_bytes: int,
        mime_type: str,
        deadline_s: float,
        traceparent: str,
    ) -> UploadStart:
        late = await self._take_upload_call(UploadRequest("upload.start", notebook, size_bytes=size_bytes), deadline_s)
        handle = f"up-{len(self.upload_requests):032x}"
        self.uploads[handle] = FakeUpload(notebook, source_id, name, size_bytes, mime_type)
        _raise_late(late)
        return UploadStart(handle, self.granularity_bytes, {"fetch_ms": 1.0})

    async def upload_slice(
        self, *, notebook: str, upload: str, offset: int, data: bytes, deadline_s: float, traceparent: str
    ) -> SliceReply:
        late = await self._take_upload_call(
            UploadRequest("upload.slice", notebook, upload, offset, len(data)), deadline_s
        )
        session = self._session(notebook, upload)
        if session.wanted != offset:
            _raise_late(late)
            return SliceReply(None, None, {"fetch_ms": 1.0})
        session.gathered += data
        self._post_multiples(session)
        session.wanted = len(session.received) + len(session.gathered)
        _raise_late(late)
        return SliceReply(session.wanted, len(session.received), {"fetch_ms": 1.0})

    async def upload_query(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        late = await self._take_upload_call(UploadRequest("upload.query", notebook, upload), deadline_s)
        session = self._session(notebook, upload)
        session.forget()
        if session.status == "active":
            session.wanted = len(session.received)
        _raise_late(late)
        return _status_of(session)

    async def upload_finish(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        late = await self._take_upload_call(UploadRequest("upload.finish", notebook, upload), deadline_s)
        session = self._session(notebook, upload)
        if session.wanted != session.size_bytes:
            raise InvalidArgument(
                "The page has not got the whole file.", details={"reason": "incomplete"}, started=False
            )
        if session.status == "active":
            session.post(len(session.gathered))
            session.status = "final"
        _raise_late(late)
        return _status_of(session)

    async def _take_upload_call(self, request: UploadRequest, deadline_s: float) -> GatewayError | None:
        """Take the call in; return the error to raise after its effect, if any.

        Raises: the script's error, when it comes before the effect.
        """
        await trio.lowlevel.checkpoint()
        if trio.current_time() >= deadline_s:
            raise DeadlineExceeded("the deadline has passed; nothing was sent", started=False)
        self.upload_requests.append(request)
        script = self.upload_script.get(request.op)
        failure = script.pop(0) if script else None
        if failure is None:
            return None
        if failure.is_late:
            return failure.error
        if failure.error.started and request.upload in self.uploads:
            self.uploads[request.upload].forget()
        raise failure.error

    def _session(self, notebook: str, upload: str) -> FakeUpload:
        session = self.uploads.get(upload)
        if session is None:
            raise NotFound("The browser knows no such upload.", details={"reason": "unknown_upload"}, started=False)
        if session.notebook != notebook:
            raise AllowlistDenied(
                "The upload belongs to another notebook.", details={"side": "extension"}, started=False
            )
        return session

    def _post_multiples(self, session: FakeUpload) -> None:
        """Send what the service takes; the file's last part waits for the finalisation."""
        left_bytes = session.size_bytes - len(session.received)
        wanted_bytes = min(len(session.gathered), left_bytes - 1)
        if multiples := wanted_bytes // self.granularity_bytes:
            session.post(multiples * self.granularity_bytes)


def _status_of(session: FakeUpload) -> UploadStatus:
    received_bytes = len(session.received) if session.status in ("active", "final") else None
    return UploadStatus(session.status, received_bytes, {"fetch_ms": 1.0})


def _raise_late(error: GatewayError | None) -> None:
    if error is not None:
        raise error
