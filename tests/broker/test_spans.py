from __future__ import annotations

import json
import logging
from collections.abc import Generator
from pathlib import Path

import pytest

from broker.log_file import JsonLine
from broker.spans import OpenSpan, Span, log

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def spans(self) -> list[Span]:
        return [vars(record)["span"] for record in self.records]


@pytest.fixture
def kept() -> Generator[Kept]:
    handler, level = Kept(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


def test_a_request_is_a_span_of_its_own_inside_the_call_of_its_trace(kept: Kept) -> None:
    OpenSpan.request("rpc rLM1Ne", TRACE).end("ok", {"worker_ms": 3.0})
    (span,) = kept.spans
    version, trace_id, own_id, flags = span.traceparent.split("-")
    assert (version, trace_id, flags) == ("00", TRACE.split("-")[1], "01")
    assert own_id != span.parent_id == TRACE.split("-")[2]
    assert (span.kind, span.name, span.result, span.hops) == ("request", "rpc rLM1Ne", "ok", {"worker_ms": 3.0})
    assert span.took_ms >= 0


def test_a_stretch_ends_once(kept: Kept) -> None:
    span = OpenSpan("call", "list_sources", TRACE, None)
    span.end("TIMEOUT")
    span.end("ok")
    assert [each.result for each in kept.spans] == ["TIMEOUT"]


def test_a_line_of_the_log_has_names_times_and_code(kept: Kept) -> None:
    OpenSpan("call", "list_sources", TRACE, "00f067aa0ba902b7").end("NOT_FOUND")
    line = json.loads(JsonLine().format(kept.records[0]))
    assert line["traceparent"] == TRACE
    assert line["message"] == "list_sources: NOT_FOUND"
    span = line["span"]
    assert span.keys() == {"kind", "name", "parent_id", "began_ms", "took_ms", "result"}
    assert (span["kind"], span["parent_id"], span["result"]) == ("call", "00f067aa0ba902b7", "NOT_FOUND")


def test_a_trace_that_is_none_gets_no_parent(kept: Kept) -> None:
    OpenSpan.request("status", "00-x").end("ok")
    (span,) = kept.spans
    assert (span.traceparent, span.parent_id) == ("00-x", None)


def test_a_log_that_grows_too_long_while_a_broker_runs_is_set_aside_for_all_brokers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from broker import log_file

    monkeypatch.setattr(log_file, "MAX_LOG_BYTES", 100)
    monkeypatch.setattr(log_file, "RECORDS_BETWEEN_LOOKS", 2)
    first, second = (log_file.ShortFileHandler(tmp_path) for _ in range(2))
    record = logging.LogRecord("x", logging.INFO, "", 0, "y" * 60, None, None)
    try:
        for _ in range(2):
            first.emit(record)
        first.emit(record)
        first.emit(record)  # the third and fourth: before it the file is 120 bytes long
        for _ in range(2):
            second.emit(record)  # whose file has another name now
    finally:
        first.close()
        second.close()
    older, newer = (tmp_path / name for name in (f"{log_file.LOG_NAME}.1", log_file.LOG_NAME))
    assert older.stat().st_size > 100
    assert newer.read_text() == "y" * 60 + "\n" + "y" * 60 + "\n"
