"""Uploading one opened file to a source that is registered already: the shell around `broker.upload_steps`.

One request is under way at a time and one slice is alive, whatever the file's size; reading ahead would gain nothing,
since a slice comes from the disk in a fraction of the time that it takes to the service. Everything runs in the
caller's own task, so cancelling the caller leaves nothing behind here. What the page has begun to send is not aborted;
a later run asks the service about it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, Protocol, TypeVar

import trio
from attrs import field, frozen

from broker.backoff import Backoff
from broker.calls import CallContext
from broker.companion import UploadCompanion, UploadStatus
from broker.errors import DeadlineExceeded, GatewayError
from broker.notebooks import Source
from broker.sent_content import FileBytes, FileChanged, SentContent
from broker.upload_messages import (
    Command,
    Done,
    Event,
    Failed,
    FileUnusable,
    Finish,
    GiveUp,
    LookAtRow,
    Pause,
    Query,
    RowSeen,
    SendSlice,
    Start,
    Started,
    Taken,
    Told,
)
from broker.upload_steps import Target, UploadSteps

T = TypeVar("T")

SMALL_REQUEST_S: Final = 60.0
"""For a start, a query or a look at the row: no file bytes travel. A discarded tab may have to be opened first."""
BYTES_REQUEST_S: Final = 240.0
"""For a slice or the finalisation: either may wait until the page has sent what it gathered, up to the granularity."""
BETWEEN_TRIES: Final = Backoff(base_s=0.5, cap_s=15.0)


class UploadRecord(Protocol):
    """What is durable of an upload. Both methods return when it is on disk."""

    @property
    def upload(self) -> str | None: ...

    @property
    def finalize_sent(self) -> bool: ...

    @property
    def starts(self) -> int: ...

    async def started(self, upload: str) -> None:
        """Keep the handle of a new session, before its first byte. It replaces an older one."""
        ...

    async def finalizing(self) -> None:
        """Note that a finalisation is about to leave."""
        ...


@frozen
class UploadJob:
    """Which bytes go to which source, under what name. The file stays the caller's to close."""

    notebook_id: str
    source_id: str
    file: FileBytes = field(repr=False)
    name: str
    mime_type: str


ReadSource = Callable[[], Awaitable[Source | None]]
OnBytes = Callable[[int, int], Awaitable[None]]


async def upload_file(
    companion: UploadCompanion,
    job: UploadJob,
    record: UploadRecord,
    read_source: ReadSource,
    ctx: CallContext,
    on_bytes: OnBytes,
    rng: Random,
) -> None:
    """Return when the service has the whole file. Continues the session that `record` names, if any.

    `read_source` gives the source's row, None when the notebook has none. `on_bytes(received, size)` is told whenever
    the service has more than before.

    Raises: each error with `source_id`, `stage` and `bytes_received` in its details.
        InvalidArgument: `definite`: the file changed on the way, and nothing of it was finalised.
        UpstreamRejected: `definite`: the service refused to start, as it does for file types that it does not take.
        UpstreamSchemaDrift: the service says something about the upload that cannot be; `definite` before finalising.
        MutationUnknown: anything else. A repeat of the call goes on from where the service is.
    """
    upload = _Upload(companion, job, record, read_source, ctx, rng)
    target = Target(job.source_id, job.file.size_bytes, record.upload is not None, record.finalize_sent, record.starts)
    steps = UploadSteps(target)
    told_bytes = 0
    command = steps.begin()
    while not isinstance(command, Done):
        if isinstance(command, GiveUp):
            raise command.error from command.cause
        command = steps.after(await upload.carry_out(command))
        if steps.received_bytes > told_bytes:
            told_bytes = steps.received_bytes
            await on_bytes(told_bytes, job.file.size_bytes)


class _Upload:
    """Carries commands out, one at a time."""

    def __init__(
        self,
        companion: UploadCompanion,
        job: UploadJob,
        record: UploadRecord,
        read_source: ReadSource,
        ctx: CallContext,
        rng: Random,
    ) -> None:
        self._companion = companion
        self._job = job
        self._record = record
        self._read_source = read_source
        self._ctx = ctx
        self._rng = rng
        self._content = SentContent(job.file)
        self._one_thread = trio.CapacityLimiter(1)

    async def carry_out(self, command: Command) -> Event:
        """Do what is asked and return what came of it."""
        if isinstance(command, Pause):
            await self._pause(command)
            command = command.then
        try:
            return await self._do(command)
        except FileChanged as error:
            return FileUnusable(str(error))
        except GatewayError as error:
            return Failed(error, is_last=self._ctx.remaining_s() == 0.0)

    async def _pause(self, pause: Pause) -> None:
        jitter_s, _ = Backoff(BETWEEN_TRIES.base_s, BETWEEN_TRIES.cap_s, tries=pause.failures - 1).next(self._rng)
        await trio.sleep(min(pause.at_least_s + jitter_s, self._ctx.remaining_s()))

    async def _do(self, command: Command) -> Event:
        match command:
            case LookAtRow():
                return await self._look()
            case Start():
                return await self._start()
            case Query():
                return self._told(
                    await self._companion.upload_query(
                        notebook=self._job.notebook_id,
                        upload=self._handle(),
                        deadline_s=self._deadline_s(SMALL_REQUEST_S),
                        traceparent=self._ctx.traceparent,
                    )
                )
            case SendSlice():
                return await self._send(command)
            case Finish():
                return await self._finish()
            case _:
                raise AssertionError(f"{command} is not carried out")

    async def _look(self) -> Event:
        with trio.move_on_after(SMALL_REQUEST_S):
            source = await self._read_source()
            return RowSeen(None if source is None else source.state)
        raise DeadlineExceeded(f"The source's row could not be read within {SMALL_REQUEST_S:g} s.")

    async def _start(self) -> Event:
        job = self._job
        reply = await self._companion.upload_start(
            notebook=job.notebook_id,
            source_id=job.source_id,
            name=job.name,
            size_bytes=job.file.size_bytes,
            mime_type=job.mime_type,
            deadline_s=self._deadline_s(SMALL_REQUEST_S),
            traceparent=self._ctx.traceparent,
        )
        self._ctx.add_hops(reply.hops)
        await self._record.started(reply.upload)
        return Started()

    async def _send(self, piece: SendSlice) -> Event:
        data = await self._in_thread(lambda: self._content.slice(piece.offset, piece.size_bytes))
        reply = await self._companion.upload_slice(
            notebook=self._job.notebook_id,
            upload=self._handle(),
            offset=piece.offset,
            data=data,
            deadline_s=self._deadline_s(BYTES_REQUEST_S),
            traceparent=self._ctx.traceparent,
        )
        self._ctx.add_hops(reply.hops)
        return Taken(reply.next_offset, reply.received_bytes)

    async def _finish(self) -> Event:
        await self._in_thread(self._content.check_whole)
        await self._record.finalizing()
        return self._told(
            await self._companion.upload_finish(
                notebook=self._job.notebook_id,
                upload=self._handle(),
                deadline_s=self._deadline_s(BYTES_REQUEST_S),
                traceparent=self._ctx.traceparent,
            )
        )

    def _told(self, reply: UploadStatus) -> Told:
        self._ctx.add_hops(reply.hops)
        return Told(reply.status, reply.received_bytes)

    def _handle(self) -> str:
        assert self._record.upload is not None
        return self._record.upload

    def _deadline_s(self, timeout_s: float) -> float:
        return min(self._ctx.deadline, trio.current_time() + timeout_s)

    async def _in_thread(self, read: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(read, limiter=self._one_thread)
