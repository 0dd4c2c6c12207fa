"""What tools and codecs see of the browser: a few values and two protocols, and nothing of sockets.

`broker.companions.Companions` is the real implementation. Pure: no I/O and no import of other broker modules, so every
layer above can be tested against a small fake.

Every method takes `deadline_s`, a point on Trio's clock (`trio.current_time()`, seconds), never a duration.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from attrs import field, frozen


@frozen
class RpcReply:
    """One answer of the service as the page received it: the raw body, not yet decoded.

    `hops` maps a hop's name to milliseconds: `worker_ms tab_ms page_ms fetch_ms` as the worker measured them, and
    `relay_ms`, the round trip seen here minus the worker's own time.
    """

    status: int
    body: str = field(repr=False)
    retry_after_s: float | None = None
    hops: dict[str, float] = field(factory=dict[str, float])


@frozen
class Identity:
    """Who the notebook page is signed in as. `origin` is the page's own, `build_label` the service's build."""

    account: str
    origin: str
    build_label: str


UploadState = Literal["active", "final", "cancelled", "expired"]
"""What the service says of an upload session; ``expired`` when it does not know the session any more."""


@frozen
class UploadStart:
    """A new upload session. `upload` is the worker's handle of it; the session's address never leaves the browser."""

    upload: str
    granularity_bytes: int
    hops: dict[str, float] = field(factory=dict[str, float])


@frozen
class SliceReply:
    """What became of one slice: the offset the page wants next, and how much of the file the service has.

    The page gathers slices up to the service's granularity, so the two differ. Both are None when the page knows
    nothing of the upload (it was reloaded) or wanted another offset: nothing was taken, and a query tells where to go
    on.
    """

    next_offset: int | None
    received_bytes: int | None
    hops: dict[str, float] = field(factory=dict[str, float])


@frozen
class UploadStatus:
    """Where an upload stands by the service's own word. `received_bytes` is None where it names no number."""

    status: UploadState
    received_bytes: int | None
    hops: dict[str, float] = field(factory=dict[str, float])


class AnswerChunks(Protocol):
    """The text of one answer stream, piece by piece as it arrived; the closing facts after the last piece.

    Pieces are not aligned to the service's framing. Reading `status`, `conversation`, `retry_after_s` or `hops`
    before the iteration has ended is a mistake of ours and raises RuntimeError.
    """

    def __aiter__(self) -> AsyncIterator[str]: ...

    async def __anext__(self) -> str: ...

    @property
    def status(self) -> int:
        """HTTP status; when it is not 200 the pieces are the error body."""
        ...

    @property
    def conversation(self) -> str | None:
        """The conversation id the worker minted; send it with the next question to the same notebook."""
        ...

    @property
    def retry_after_s(self) -> float | None: ...

    @property
    def hops(self) -> dict[str, float]: ...


class UploadCompanion(Protocol):
    """The part of the browser that uploads use. Raises (all methods): as `Companion`."""

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
        """Start an upload session for a source that is registered, and was seen in the notebook's list, already."""
        ...

    async def upload_slice(
        self, *, notebook: str, upload: str, offset: int, data: bytes, deadline_s: float, traceparent: str
    ) -> SliceReply:
        """Hand 1 to 512 KiB of the file, the bytes from `offset` on, to the page.

        Raises (this and the next two): NotFound with the detail ``reason: unknown_upload`` when the browser or its
            extension was restarted since the start.
        """
        ...

    async def upload_query(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        """Ask the service how far it is. The page then wants that offset, and has forgotten what it had gathered."""
        ...

    async def upload_finish(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        """Send what the page has gathered and say that this was all.

        Raises: InvalidArgument with the detail ``reason: incomplete`` when the page lacks a part; nothing was sent.
        """
        ...


class Companion(UploadCompanion, Protocol):
    """The one browser this session works through.

    Raises (all methods): CompanionOffline, VersionSkew, AccountMismatch, AuthRequired, AllowlistDenied, TabDiscarded,
        RateLimited, DeadlineExceeded, and what else the worker reports; always a `broker.errors.GatewayError`, whose
        `started` is False only when the request provably never reached the service.
    """

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        """Ask the page who is signed in. `refresh` reloads the tab first, which gives it a new CSRF token."""
        ...

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        """Return the worker's own account of itself; never opens a tab."""
        ...

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        """Send one batchexecute request from the page. `notebook` is None for calls about no notebook in particular."""
        ...

    def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AbstractAsyncContextManager[AnswerChunks]:
        """Ask one question. Leaving the context before the end cancels the stream in the page.

        Raises (while iterating): StreamSevered when the stream ended before the worker's closing result.
        """
        ...
