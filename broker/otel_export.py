"""Hand finished spans to OpenTelemetry, where the optional extra ``otel`` is installed and the environment asks for it.

The variables are OpenTelemetry's own: ``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``…_TRACES_ENDPOINT``), or
``OTEL_TRACES_EXPORTER`` with the name of another installed exporter; ``OTEL_SDK_DISABLED`` and
``OTEL_TRACES_EXPORTER=none`` switch it off. The SDK's own processors run threads of their own, so spans are queued here
and exported by one short worker thread at a time. An exporter that fails or is slow costs spans, never a call.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, Protocol, cast

import trio

from broker.spans import ASKED, OK, Span
from broker.spans import log as spans_log
from broker.trace import parts_of
from native_host.build import BUILD

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger(__name__)

MAX_QUEUED: Final = 2048
MAX_BATCH: Final = 512
BATCH_S: Final = 1.0
"""How long the first span of a batch waits for others."""
EXPORT_TIMEOUT_S: Final = 15.0
LAST_EXPORT_S: Final = 1.0
EXPORTERS: Final = "opentelemetry_traces_exporter"
"""The entry point group of OpenTelemetry's exporters."""


class Exporter(Protocol):
    """The part of `opentelemetry.sdk.trace.export.SpanExporter` that is used."""

    def export(self, spans: Sequence[object]) -> object: ...

    def shutdown(self) -> None: ...


def wanted_exporter(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the name of the exporter that the environment asks for, or None."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    name = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    if name:
        return None if name == "none" else name
    endpoints = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return "otlp_proto_http" if any(environ.get(each) for each in endpoints) else None


def load_exporter(name: str) -> Exporter:
    """Make the exporter. ``otlp`` is OTLP over HTTP, the only one that the extra brings.

    Raises:
        LookupError: no such exporter is installed.
    """
    wanted = "otlp_proto_http" if name == "otlp" else name
    for found in entry_points(group=EXPORTERS, name=wanted):
        return cast("Exporter", found.load()())
    raise LookupError(f"no exporter {name!r} is installed; pip install 'notebook-gateway[otel]'")


class _Queue(logging.Handler):
    def __init__(self, spans: trio.MemorySendChannel[Span]) -> None:
        super().__init__(logging.INFO)
        self._spans = spans
        self.dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._spans.send_nowait(cast("Span", vars(record)["span"]))
        except (trio.WouldBlock, trio.BrokenResourceError):
            self.dropped += 1


async def export_spans(make_exporter: Callable[[], Exporter]) -> None:
    """Export the spans of this process until cancelled; what is queued then gets `LAST_EXPORT_S`.

    Spans are kept from the first moment on: an exporter takes seconds to import. One that cannot be made is told in
    the log.
    """
    send, receive = trio.open_memory_channel[Span](MAX_QUEUED)
    queue = _Queue(send)
    spans_log.addHandler(queue)
    batch: list[Span] = []
    exporter: Exporter | None = None
    try:
        exporter = await trio.to_thread.run_sync(make_exporter, abandon_on_cancel=True)
        while True:
            batch.append(await receive.receive())
            with trio.move_on_after(BATCH_S):
                while len(batch) < MAX_BATCH:
                    batch.append(await receive.receive())
            leaving, batch = batch, []  # a cancel during the export does not export them twice
            await _export(exporter, leaving, EXPORT_TIMEOUT_S)
    except Exception as error:  # noqa: BLE001  # foreign code, and no reason to stop
        log.warning("OpenTelemetry gets nothing: %s", error)
    finally:
        spans_log.removeHandler(queue)
        if exporter is not None:
            with trio.CancelScope(shield=True):
                while receive.statistics().current_buffer_used:
                    batch.append(receive.receive_nowait())
                if batch:
                    await _export(exporter, batch, LAST_EXPORT_S)
                with trio.move_on_after(LAST_EXPORT_S):
                    await trio.to_thread.run_sync(exporter.shutdown, abandon_on_cancel=True)
        if queue.dropped:
            log.warning("%d spans were not exported: the exporter is too slow", queue.dropped)


async def _export(exporter: Exporter, batch: Sequence[Span], timeout_s: float) -> None:
    with trio.move_on_after(timeout_s) as scope:
        try:
            await trio.to_thread.run_sync(exporter.export, [as_otel(span) for span in batch], abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001  # foreign code, and no reason to stop
            log.warning("%d spans were not exported: %s", len(batch), type(error).__name__)
    if scope.cancelled_caught:
        log.warning("%d spans were not exported within %g s", len(batch), timeout_s)


def as_otel(span: Span) -> object:
    """Return the span as an `opentelemetry.sdk.trace.ReadableSpan`.

    A tool call is named as MCP's conventions do; the hops' times are attributes in milliseconds.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    trace_id, span_id, flags = parts_of(span.traceparent) or (0, 0, 0)

    def context(own_id: int, *, is_remote: bool) -> SpanContext:
        return SpanContext(trace_id, own_id, is_remote=is_remote, trace_flags=TraceFlags(flags))

    is_call = span.kind == "call"
    is_well = span.result in (OK, ASKED)
    attributes: dict[str, str | float] = {f"notebook_gateway.{name}": ms for name, ms in span.hops.items()}
    if is_call:
        attributes |= {"mcp.method.name": "tools/call", "gen_ai.tool.name": span.name}
    if not is_well:
        attributes["error.type"] = span.result
    return ReadableSpan(
        f"tools/call {span.name}" if is_call else span.name,
        context=context(span_id, is_remote=False),
        parent=None if span.parent_id is None else context(int(span.parent_id, 16), is_remote=is_call),
        resource=Resource.create({"service.name": "notebook-gateway", "service.version": BUILD}),
        attributes=attributes,
        kind=SpanKind.SERVER if is_call else SpanKind.CLIENT,
        status=Status(StatusCode.UNSET if is_well else StatusCode.ERROR, None if is_well else span.result),
        start_time=math.floor(span.began_ms * 1e6),
        end_time=math.floor((span.began_ms + span.took_ms) * 1e6),
        instrumentation_scope=InstrumentationScope("notebook_gateway", BUILD),
    )
