"""One upload on the model, run as often as a test wants."""

from __future__ import annotations

from random import Random

import trio
from attrs import define, field

from broker.calls import CallContext
from broker.errors import (
    GatewayError,
)
from broker.notebooks import Source
from broker.sent_content import FileBytes
from broker.upload_steps import SLICE_BYTES
from broker.uploading import UploadJob, upload_file
from tests.broker.upload_helpers import (
    NOTEBOOK_ID,
    SOURCE_ID,
    BreakingCompanion,
    Record,
    Service,
    row,
    some_content,
)

FIVE_MB = some_content(5_000_000)
SLICE = SLICE_BYTES
USUAL_STEP = Service().granularity_bytes
SLICES = -(-len(FIVE_MB) // SLICE)
FINISH = 1 + SLICES
"""Number of the finalisation among the calls of a run that nothing breaks: a start, all slices, and it."""


def received_after(slices: int) -> int:
    """Return how much the service has when the page has so many slices: whole steps of its granularity."""
    return slices * SLICE // USUAL_STEP * USUAL_STEP


class LongestWaits(Random):
    """Jitter at its ceiling, so that times can be told beforehand."""

    def uniform(self, a: float, b: float) -> float:
        return b


@define(eq=False)
class Bench:
    """One file, one source and one record, for as many runs as it takes."""

    file: FileBytes
    companion: BreakingCompanion = field(factory=BreakingCompanion)
    record: Record = field(factory=Record)
    received: list[int] = field(factory=list[int])
    rows_read: int = 0
    timeout_s: float = 6 * 3600.0

    async def run(self) -> None:
        job = UploadJob(NOTEBOOK_ID, SOURCE_ID, self.file, "a.pdf", "application/pdf")
        ctx = CallContext.starting_now(self.timeout_s, "00-" + "1" * 32 + "-" + "2" * 16 + "-01")
        with trio.CancelScope() as self.companion.scope:
            rng = LongestWaits()
            await upload_file(self.companion, job, self.record, self.read_source, ctx, self.on_bytes, rng)
            return
        raise Cancelled

    @property
    def service(self) -> Service:
        return self.companion.service

    async def read_source(self) -> Source | None:
        await trio.lowlevel.checkpoint()
        self.rows_read += 1
        return None if self.service.row is None else row(self.service.row)

    async def on_bytes(self, received: int, size: int) -> None:
        assert size == self.file.size_bytes
        self.received.append(received)


class Cancelled(Exception):
    """The run was cancelled from outside."""


def where(error: GatewayError) -> tuple[str, str]:
    assert type(error.details["bytes_received"]) is int
    return error.details["source_id"], error.details["stage"]
