from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define, field
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from broker import otel_export
from broker.otel_export import as_otel, export_spans, load_exporter, wanted_exporter
from broker.spans import OpenSpan, Span, log
from cdp.polling import until
from harness.mcp_client import SERVE_COMMAND, open_client

TRACE_ID, OWN_ID, PARENT_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "53995c3f42cd8ad8"


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, "otlp_proto_http"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, "otlp_proto_http"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}, None),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}, None),
        ({"OTEL_SERVICE_NAME": "x"}, None),
    ],
)
def test_the_environment_says_whether_and_where_to(environ: dict[str, str], name: str | None) -> None:
    assert wanted_exporter(environ) == name


def test_an_exporter_that_is_not_installed_is_named_with_the_remedy() -> None:
    with pytest.raises(LookupError, match=r"no exporter 'zipkin'.*notebook-gateway\[otel\]"):
        load_exporter("zipkin")


def test_a_span_keeps_ids_times_and_result() -> None:
    traceparent = f"00-{TRACE_ID}-{OWN_ID}-01"
    hops = {"worker_ms": 2.5}
    exported: Any = as_otel(Span("request", "rpc rLM1Ne", traceparent, PARENT_ID, 1000.5, 20.25, "TIMEOUT", hops))
    assert (exported.context.trace_id, exported.context.span_id) == (int(TRACE_ID, 16), int(OWN_ID, 16))
    assert exported.parent.span_id == int(PARENT_ID, 16)
    assert (exported.start_time, exported.end_time) == (1_000_500_000, 1_020_750_000)
    assert dict(exported.attributes) == {"notebook_gateway.worker_ms": 2.5, "error.type": "TIMEOUT"}
    assert not exported.status.is_ok
    call: Any = as_otel(Span("call", "list_notes", traceparent, None, 0.0, 1.0, "ok"))
    assert (call.name, call.parent, call.attributes["gen_ai.tool.name"]) == (
        "tools/call list_notes",
        None,
        "list_notes",
    )


@define
class FakeExporter:
    """Keeps what it gets; `gate` holds every export up while it is set."""

    batches: list[list[str]] = field(factory=list[list[str]])
    fails: bool = False
    is_shut_down: bool = False

    def export(self, spans: Sequence[Any]) -> None:
        self.batches.append([span.name for span in spans])
        if self.fails:
            raise ConnectionError("no collector")

    def shutdown(self) -> None:
        self.is_shut_down = True

    @property
    def names(self) -> list[str]:
        return [name for batch in self.batches for name in batch]


@pytest.fixture
def spans_at_info() -> Generator[None]:
    level = log.level
    log.setLevel("INFO")
    yield
    log.setLevel(level)


def finish(name: str) -> None:
    OpenSpan("request", name, f"00-{TRACE_ID}-{OWN_ID}-01", None).end("ok")


async def exported(exporter: FakeExporter, count: int) -> None:
    async def are_there() -> bool:
        await trio.lowlevel.checkpoint()
        return len(exporter.names) >= count

    await until(are_there)


@pytest.mark.usefixtures("spans_at_info")
async def test_spans_leave_in_batches_and_the_last_ones_at_the_end() -> None:
    exporter = FakeExporter()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(export_spans, lambda: exporter)
            await trio.testing.wait_all_tasks_blocked()
            for name in "abc":
                finish(name)
            await exported(exporter, 3)
            finish("last")
            nursery.cancel_scope.cancel()
    assert exporter.names == ["a", "b", "c", "last"]
    assert exporter.is_shut_down
    assert not [handler for handler in log.handlers if type(handler).__module__ == otel_export.__name__]


@pytest.mark.usefixtures("spans_at_info")
async def test_an_exporter_that_fails_costs_spans_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    exporter = FakeExporter(fails=True)
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(export_spans, lambda: exporter)
            await trio.testing.wait_all_tasks_blocked()
            finish("first")
            await exported(exporter, 1)
            finish("second")
            await exported(exporter, 2)
            nursery.cancel_scope.cancel()
    assert "1 spans were not exported: ConnectionError" in caplog.text


@pytest.mark.usefixtures("spans_at_info")
async def test_more_spans_than_the_queue_holds_are_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(otel_export, "MAX_QUEUED", 5)
    exporter, is_made = FakeExporter(), threading.Event()

    def make() -> FakeExporter:
        is_made.wait(10)
        return exporter

    async with trio.open_nursery() as nursery:
        nursery.start_soon(export_spans, make)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(10):
            finish(str(number))
        is_made.set()
        await exported(exporter, 5)
        nursery.cancel_scope.cancel()
    assert exporter.names == ["0", "1", "2", "3", "4"]
    assert "5 spans were not exported" in caplog.text


@pytest.mark.usefixtures("spans_at_info")
async def test_an_exporter_that_cannot_be_made_is_told_and_leaves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> FakeExporter:
        raise LookupError("no exporter 'zipkin' is installed")

    await export_spans(make)
    assert "OpenTelemetry gets nothing: no exporter 'zipkin' is installed" in caplog.text
    assert not [handler for handler in log.handlers if type(handler).__module__ == otel_export.__name__]


class Collector(http.server.BaseHTTPRequestHandler):
    """An OTLP endpoint that keeps what it gets."""

    requests: list[tuple[str, bytes]]

    def do_POST(self) -> None:
        self.requests.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


async def test_a_call_of_serve_arrives_at_a_real_collector(tmp_path: Path) -> None:
    handler = type("_", (Collector,), {"requests": list[tuple[str, bytes]]()})
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    async def has_arrived() -> bool:
        await trio.lowlevel.checkpoint()
        return bool(handler.requests)

    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        env = {**os.environ, "NOTEBOOK_GATEWAY_HOME": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        with trio.fail_after(60):
            async with open_client(SERVE_COMMAND, env=env) as client:
                await client.initialize()
                meta = {"traceparent": f"00-{TRACE_ID}-{PARENT_ID}-01"}
                assert (await client.call_tool("list_notebooks", {}, meta=meta))["isError"], "no account is configured"
                await until(has_arrived)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    path, body = handler.requests[0]
    assert path == "/v1/traces"
    (of_resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    (span,) = of_resource.scope_spans[0].spans
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == (
        "tools/call list_notebooks",
        TRACE_ID,
        PARENT_ID,
    )
    assert {each.key: each.value.string_value for each in span.attributes}["error.type"] == "AUTH_REQUIRED"
