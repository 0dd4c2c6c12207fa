"""The companion of a session, opened by the first call that needs a browser.

An agent may never call a tool, and the configuration may be missing or mended later; `serve` answers `initialize` and
`tools/list` in any case, without having imported the relay.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import trio

from broker.companion import AnswerChunks, Companion, Identity, RpcReply, SliceReply, UploadStart, UploadStatus

OpenCompanion = Callable[[], Awaitable[AbstractAsyncContextManager[Companion]]]


class LateCompanion:
    """Implements `broker.companion.Companion` by opening another one when it is first used.

    `open_companion` may raise a GatewayError; the next call then tries again.
    """

    def __init__(self, nursery: trio.Nursery, open_companion: OpenCompanion) -> None:
        self._nursery = nursery
        self._open_companion = open_companion
        self._companion: Companion | None = None
        self._opening = trio.Lock()

    def __repr__(self) -> str:
        return f"<LateCompanion {self._companion or 'not opened'}>"

    async def identity(self, *, refresh: bool = False, deadline_s: float, traceparent: str) -> Identity:
        companion = await self._opened()
        return await companion.identity(refresh=refresh, deadline_s=deadline_s, traceparent=traceparent)

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        companion = await self._opened()
        return await companion.status(deadline_s=deadline_s, traceparent=traceparent)

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        companion = await self._opened()
        return await companion.rpc(rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent)

    @asynccontextmanager
    async def stream(
        self, params: object, *, notebook: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[AnswerChunks]:
        companion = await self._opened()
        async with companion.stream(
            params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        ) as chunks:
            yield chunks

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
        companion = await self._opened()
        return await companion.upload_start(
            notebook=notebook,
            source_id=source_id,
            name=name,
            size_bytes=size_bytes,
            mime_type=mime_type,
            deadline_s=deadline_s,
            traceparent=traceparent,
        )

    async def upload_slice(
        self, *, notebook: str, upload: str, offset: int, data: bytes, deadline_s: float, traceparent: str
    ) -> SliceReply:
        companion = await self._opened()
        return await companion.upload_slice(
            notebook=notebook,
            upload=upload,
            offset=offset,
            data=data,
            deadline_s=deadline_s,
            traceparent=traceparent,
        )

    async def upload_query(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        companion = await self._opened()
        return await companion.upload_query(
            notebook=notebook, upload=upload, deadline_s=deadline_s, traceparent=traceparent
        )

    async def upload_finish(self, *, notebook: str, upload: str, deadline_s: float, traceparent: str) -> UploadStatus:
        companion = await self._opened()
        return await companion.upload_finish(
            notebook=notebook, upload=upload, deadline_s=deadline_s, traceparent=traceparent
        )

    async def _opened(self) -> Companion:
        if self._companion is None:
            async with self._opening:
                if self._companion is None:
                    opened = await self._open_companion()
                    self._companion = await self._nursery.start(self._keep_open, opened)
        assert self._companion is not None
        return self._companion

    async def _keep_open(
        self, opened: AbstractAsyncContextManager[Companion], task_status: trio.TaskStatus[Companion]
    ) -> None:
        async with opened as companion:
            task_status.started(companion)
            await trio.sleep_forever()
