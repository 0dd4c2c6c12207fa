from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from native_host.paths import host_log_file, logs_folder
from notebook_gateway.logs_report import Stretch, read_records, road_of, trace_prefix
from notebook_gateway.logs_view import BAR_CHARS, bar

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CALL, FIRST, SECOND = (f"00-{TRACE_ID}-{digit * 16}-01" for digit in "abc")
BEGAN_MS = datetime(2026, 11, 30, 9, 33, 20, tzinfo=UTC).timestamp() * 1000


def span(traceparent: str, kind: str, name: str, began_ms: float, took_ms: float, **more: Any) -> str:
    parent_id = None if kind == "call" else CALL.split("-")[2]
    fields = {"kind": kind, "name": name, "parent_id": parent_id, "began_ms": BEGAN_MS + began_ms, "took_ms": took_ms}
    return json.dumps(
        {"logger": "broker.spans", "traceparent": traceparent, "span": {**fields, "result": "ok", **more}}
    )


def host_line(traceparent: str, took_ms: float) -> str:
    # 60 ms after the beginning
    fields = {"at": "2026-11-30T09:33:20.060+00:00", "pid": 7, "logger": "native_host", "message": "rpc ended"}
    return json.dumps({**fields, "traceparent": traceparent, "took_ms": took_ms})


def write_logs(home: Path, broker: list[str], host: list[str] | None = None) -> None:
    logs_folder(home).mkdir(parents=True, exist_ok=True)
    (logs_folder(home) / "broker.log").write_text("\n".join(broker) + "\n")
    host_log_file(home).write_text("\n".join(host or []) + "\n")


def road(home: Path) -> Any:
    return road_of(TRACE_ID, read_records(home)[TRACE_ID])


def test_a_call_its_requests_and_their_hops_stand_one_inside_the_other(tmp_path: Path) -> None:
    hops = {"relay_ms": 5, "worker_ms": 30, "tab_ms": 0, "page_ms": 20, "fetch_ms": 10}
    broker = [
        span(FIRST, "request", "rpc rLM1Ne", 20, 45, hops=hops),
        "a traceback's line",
        span(CALL, "call", "list_sources", 0, 100),
    ]
    write_logs(tmp_path, broker, [host_line(FIRST, 36.0), "Fatal Python error: a line of C code"])
    assert [(each.where, each.name, each.depth, each.began_ms, each.took_ms) for each in road(tmp_path).stretches] == [
        ("broker", "list_sources", 0, 0.0, 100.0),
        ("broker", "rpc rLM1Ne", 1, 20.0, 45.0),
        ("host", "rpc", 2, 24.0, 36.0),
        ("worker", "", 3, 27.0, 30.0),
        ("page", "", 4, 32.0, 20.0),
        ("service", "", 5, 37.0, 10.0),
    ]
    assert road(tmp_path).took_ms == 100.0


def test_no_stretch_reaches_out_of_the_one_around_it(tmp_path: Path) -> None:
    """The programs round, and their clocks are read at different moments."""
    hops = {"worker_ms": 90, "page_ms": 95, "fetch_ms": 99}
    write_logs(tmp_path, [span(FIRST, "request", "rpc x", 0, 80, hops=hops)], [host_line(FIRST, 300.0)])
    for each in road(tmp_path).stretches:
        assert each.began_ms >= 0
        assert each.began_ms + each.took_ms <= 80


def test_a_request_whose_call_was_never_written_is_shown_all_the_same(tmp_path: Path) -> None:
    write_logs(tmp_path, [span(SECOND, "request", "stream", 5, 9, result="STREAM_SEVERED")])
    (stretch,) = road(tmp_path).stretches
    assert (stretch.name, stretch.result) == ("stream", "STREAM_SEVERED")


def test_other_lines_of_the_trace_are_kept_with_it(tmp_path: Path) -> None:
    message = {"at": "x", "level": "info", "logger": "broker.dispatch", "message": "why", "traceparent": CALL}
    write_logs(tmp_path, [json.dumps(message), span(CALL, "call", "list_notes", 0, 1)])
    assert [line["message"] for line in road(tmp_path).messages] == ["why"]


def test_the_file_set_aside_is_read_too(tmp_path: Path) -> None:
    write_logs(tmp_path, [span(FIRST, "request", "rpc x", 1, 2)])
    older = logs_folder(tmp_path) / "broker.log.1"
    older.write_text(span(CALL, "call", "list_notes", 0, 9) + "\n")
    assert [each.name for each in road(tmp_path).stretches] == ["list_notes", "rpc x"]


def test_without_logs_there_is_nothing(tmp_path: Path) -> None:
    assert read_records(tmp_path) == {}


@pytest.mark.parametrize("text", [TRACE_ID, TRACE_ID[:8], CALL, f" {TRACE_ID.upper()} "])
def test_a_trace_may_be_named_in_each_way_that_people_copy_it(text: str) -> None:
    assert TRACE_ID.startswith(trace_prefix(text))


@pytest.mark.parametrize("text", ["", "4bf92", "xyzxyzxyz", "4bf92f3577b34da6a3ce929d0e0e47361"])
def test_what_is_no_trace_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no trace id"):
        trace_prefix(text)


@pytest.mark.parametrize(
    ("began_ms", "took_ms", "expected"),
    [(0, 100, "█" * BAR_CHARS), (50, 50, " " * 20 + "█" * 20), (100, 0, " " * 39 + "█"), (0, 0.001, "█")],
)
def test_a_bar_stands_where_the_stretch_was(began_ms: float, took_ms: float, expected: str) -> None:
    assert bar(Stretch("broker", "x", 0, began_ms, took_ms), 100) == expected


def test_a_road_of_no_length_has_bars() -> None:
    assert bar(Stretch("broker", "x", 0, 0, 0), 0) == "█"
