"""A service, a page and a worker that are as simple as they can be, and break where a test says so.

The model follows the upload rules of the wire reference (section 7): bytes are taken only at the offset the service is
at, a part that is not the last is a multiple of the granularity, and a finished session takes nothing more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Literal, TypeVar

import trio
from attrs import define, field

from broker.companion import SliceReply, UploadStart, UploadStatus
from broker.errors import (
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    NotFound,
    TabDiscarded,
    UpstreamRejected,
)
from broker.notebooks import Source
from broker.notebooks import State as RowState

T = TypeVar("T")
SOURCE_ID = "5e000000-0000-4000-8000-000000000001"
NOTEBOOK_ID = "0b000000-0000-4000-8000-000000000001"


class Break(StrEnum):
    """What happens to one call instead of its going well."""

    LOST_BEFORE = "the relay is gone before the call left"
    LOST_AFTER = "the relay is gone before the answer came"
    LATE = "the relay is gone, and the page goes on after later calls"
    TAB_GONE = "the tab is discarded"
    RELOAD = "the page was reloaded before the call"
    RESTART = "the extension was restarted before the call"
    HTTP_503 = "the service answers 503 to the page's request"
    CANCEL_BEFORE = "the caller is cancelled before the call left"
    CANCEL_AFTER = "the caller is cancelled while the answer is on its way"


class Http(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status

    def as_gateway_error(self) -> UpstreamRejected:
        definite = self.status < 500
        return UpstreamRejected(str(self), details={"http_status": self.status}, definite=definite)


@define(eq=False)
class Session:
    """One upload session at the service."""

    source_id: str
    size_bytes: int
    granularity_bytes: int
    status: Literal["active", "final", "cancelled", "expired"] = "active"
    content: bytearray = field(factory=bytearray)

    def take(self, offset: int, data: bytes, *, finalize: bool) -> None:
        if self.status != "active" or offset != len(self.content):
            raise Http(400)
        assert finalize or (data and len(data) % self.granularity_bytes == 0), "a part that is no multiple"
        assert offset + len(data) <= self.size_bytes
        self.content += data
        if finalize:
            if len(self.content) != self.size_bytes:
                raise Http(400)
            self.status = "final"


@define(eq=False)
class Service:
    """The service's side: one row, its sessions, and what was made of them."""

    granularity_bytes: int = 262_144
    row: RowState | None = "preparing"
    start_error: GatewayError | None = None
    sessions: list[Session] = field(factory=list[Session])

    @property
    def finalised(self) -> list[bytes]:
        return [bytes(session.content) for session in self.sessions if session.status == "final"]

    def start(self, source_id: str, size_bytes: int) -> Session:
        if self.start_error is not None:
            raise self.start_error
        self.sessions.append(Session(source_id, size_bytes, self.granularity_bytes))
        return self.sessions[-1]

    def take(self, session: Session, offset: int, data: bytes, *, finalize: bool = False) -> None:
        session.take(offset, data, finalize=finalize)
        if finalize:
            self.row = "processing"


@define(eq=False)
class Page:
    """The page's side of one session: what it gathered, and the offset it wants next (None after a reload)."""

    session: Session
    buffer: bytes = b""
    wanted: int | None = 0

    def forget(self) -> None:
        self.buffer, self.wanted = b"", None


@define(eq=False)
class BreakingCompanion:
    """Implements `broker.companion.UploadCompanion` over the model.

    Each call takes the next of `breaks`, if any; after those, the next in its operation's own list.
    """

    service: Service = field(factory=Service)
    breaks: list[Break | GatewayError | None] = field(factory=list["Break | GatewayError | None"])
    breaks_of: dict[str, list[Break | None]] = field(factory=dict[str, "list[Break | None]"])
    calls: list[str] = field(factory=list[str])
    at: list[float] = field(factory=list[float])
    pages: dict[str, Page] = field(factory=dict[str, Page])
    scope: trio.CancelScope | None = None
    on_slice: Callable[[int], None] = lambda _: None
    """Told the number of slices so far, before each."""
    late: list[tuple[int, Callable[[], object]]] = field(factory=list["tuple[int, Callable[[], object]]"])

    def sent(self, op: str) -> int:
        return self.calls.count(op)

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
        assert source_id == SOURCE_ID

        def start() -> UploadStart:
            handle = f"up-{len(self.service.sessions) + 1:032x}"
            self.pages[handle] = Page(self.service.start(source_id, size_bytes))
            return UploadStart(handle, self.service.granularity_bytes, {"fetch_ms": 1.0})

        return await self._call("start", notebook, start, deadline_s)

    async def upload_slice(
        self, *, notebook: str, upload: str, offset: int, data: bytes, deadline_s: float, traceparent: str
    ) -> SliceReply:
        assert 0 < len(data) <= 512 * 1024
        self.on_slice(self.sent("slice") + 1)
        return await self._call("slice", notebook, lambda: self._slice(upload, offset, data), deadline_s)

    async def upload_query(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        return await self._call("query", notebook, lambda: self._query(upload), deadline_s)

    async def upload_finish(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        return await self._call("finish", notebook, lambda: self._finish(upload), deadline_s)

    def land_late_ones(self) -> None:
        """Let everything that is still under way in the page happen."""
        self._land(len(self.calls) + 100)

    # -- the page and the worker -------------------------------------------------------------------------------------

    def _page(self, upload: str) -> Page:
        if upload not in self.pages:
            raise NotFound("no such upload", details={"reason": "unknown_upload"}, started=False)
        return self.pages[upload]

    def _slice(self, upload: str, offset: int, data: bytes) -> SliceReply:
        page = self._page(upload)
        if page.wanted is None or offset != page.wanted:
            return SliceReply(None, None, {})
        page.buffer += data
        page.wanted += len(data)
        # The end of the file is kept back for the finalisation.
        step = page.session.granularity_bytes
        ready = len(page.buffer) // step * step
        if page.wanted == page.session.size_bytes and ready == len(page.buffer):
            ready -= step
        if ready > 0:
            part, page.buffer = page.buffer[:ready], page.buffer[ready:]
            self._post(page, page.wanted - len(page.buffer) - len(part), part, finalize=False)
        return SliceReply(page.wanted, len(page.session.content), {"fetch_ms": 1.0})

    def _query(self, upload: str) -> UploadStatus:
        page = self._page(upload)
        session = page.session
        page.buffer, page.wanted = b"", len(session.content)
        received = len(session.content) if session.status == "active" else None
        return UploadStatus(session.status, received, {"fetch_ms": 1.0})

    def _finish(self, upload: str) -> UploadStatus:
        page = self._page(upload)
        size_bytes = page.session.size_bytes
        if page.wanted != size_bytes:
            raise InvalidArgument("not all there", details={"reason": "incomplete"}, started=False)
        self._post(page, size_bytes - len(page.buffer), page.buffer, finalize=True)
        return UploadStatus("final", None, {"fetch_ms": 1.0})

    def _post(self, page: Page, offset: int, data: bytes, *, finalize: bool) -> None:
        try:
            self.service.take(page.session, offset, data, finalize=finalize)
        except Http as error:
            page.forget()
            raise error.as_gateway_error() from error

    # -- breaking ----------------------------------------------------------------------------------------------------

    async def _call(self, op: str, notebook: str, act: Callable[[], T], deadline_s: float) -> T:
        assert notebook == NOTEBOOK_ID
        self.calls.append(op)
        self.at.append(trio.current_time())
        self._land(len(self.calls))
        await trio.lowlevel.checkpoint()
        if trio.current_time() >= deadline_s:
            raise DeadlineExceeded("the deadline has passed", started=False)
        script = self.breaks or self.breaks_of.get(op)
        breaks = script.pop(0) if script else None
        if isinstance(breaks, GatewayError):
            raise breaks
        match breaks:
            case Break.LOST_BEFORE:
                raise CompanionOffline("lost", started=False)
            case Break.LOST_AFTER:
                act()
                raise CompanionOffline("lost")
            case Break.LATE:
                self._put_off(act)
                raise CompanionOffline("lost")
            case Break.TAB_GONE:
                self._forget_all()
                raise TabDiscarded("discarded")
            case Break.RELOAD:
                self._forget_all()
            case Break.RESTART:
                self.pages.clear()
            case Break.HTTP_503:
                self._forget_all()
                raise Http(503).as_gateway_error()
            case Break.CANCEL_BEFORE:
                await self._cancel()
            case Break.CANCEL_AFTER:
                act()
                await self._cancel()
            case None:
                pass
        return act()

    async def _cancel(self) -> None:
        assert self.scope is not None
        self.scope.cancel()
        await trio.lowlevel.checkpoint()

    def _forget_all(self) -> None:
        for page in self.pages.values():
            page.forget()

    def _put_off(self, act: Callable[[], object]) -> None:
        known = dict(self.pages)  # what runs in a page goes on there when the worker has forgotten it

        def act_late() -> None:
            pages, self.pages = self.pages, known
            try:
                act()
            finally:
                self.pages = pages

        self.late.append((len(self.calls) + 2, act_late))

    def _land(self, now: int) -> None:
        due = [act for at, act in self.late if at <= now]
        self.late = [(at, act) for at, act in self.late if at > now]
        for act in due:
            with suppress(GatewayError):  # nobody hears of it any more
                act()


@define(eq=False)
class Record:
    """Implements `broker.uploading.UploadRecord` as a journal does: what it says outlives a run."""

    upload: str | None = None
    finalize_sent: bool = False
    starts: int = 0
    finalizing_calls: int = 0

    async def started(self, upload: str) -> None:
        await trio.lowlevel.checkpoint()
        self.upload, self.finalize_sent, self.starts = upload, False, self.starts + 1

    async def finalizing(self) -> None:
        await trio.lowlevel.checkpoint()
        self.finalize_sent = True
        self.finalizing_calls += 1


class MemoryFile:
    """Implements `broker.sent_content.FileBytes`; its content can be swapped without a trace in its time of change."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size_bytes = len(content)
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.is_changed = False

    def read_at(self, offset: int, size_bytes: int, /) -> bytes:
        return self.content[offset : offset + size_bytes]

    def changed(self) -> bool:
        return self.is_changed


def some_content(size_bytes: int) -> bytes:
    """Return bytes in which no two slices are alike."""
    return b"".join(number.to_bytes(8, "big") for number in range(size_bytes // 8 + 1))[:size_bytes]


def row(state: RowState) -> Source:
    return Source(SOURCE_ID, "a.pdf", "pdf", 3, state, None)
