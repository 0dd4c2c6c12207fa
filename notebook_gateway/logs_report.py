"""What the programs wrote about their calls, read from their logs and joined by the trace id. Pure but for reading.

The broker writes a span per tool call and per request; the native host writes how long the worker had each request; the
worker's and page's times come with the answer. Offsets are measured for broker and host. Of worker, page and service
only lengths are known, so each stands in the middle of the stretch around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from attrs import field, frozen

from broker.log_file import LOG_NAME
from native_host.paths import host_log_file, logs_folder

HOPS: Final = (("worker", "worker_ms"), ("page", "page_ms"), ("service", "fetch_ms"))
"""From the outside in: the label, and the name of the hop's time."""
OLDER: Final = ".1"
MIN_TRACE_CHARS: Final = 6
Json = dict[str, object]


@frozen
class Stretch:
    """One line of the waterfall. `began_ms` counts from the beginning of the whole road; `depth` from the tool call."""

    where: str
    name: str
    depth: int
    began_ms: float
    took_ms: float
    result: str | None = None


@frozen
class Road:
    """All that is known of one trace, in the order of time; the tool calls in it first."""

    trace_id: str
    began_ms: float
    """Epoch milliseconds."""
    stretches: tuple[Stretch, ...]
    messages: tuple[Json, ...] = ()
    """Other lines of the logs that carry the trace id."""

    @property
    def took_ms(self) -> float:
        return max(stretch.began_ms + stretch.took_ms for stretch in self.stretches)

    def as_dict(self) -> Json:
        stretches = [
            {
                "where": each.where,
                "name": each.name,
                "depth": each.depth,
                "began_ms": round(each.began_ms, 3),
                "took_ms": round(each.took_ms, 3),
                "result": each.result,
            }
            for each in self.stretches
        ]
        return {
            "trace_id": self.trace_id,
            "began_ms": self.began_ms,
            "took_ms": round(self.took_ms, 3),
            "stretches": stretches,
            "messages": list(self.messages),
        }


@frozen
class Records:
    """The lines of all logs that belong to a trace."""

    spans: list[Json] = field(factory=list[Json])
    host: list[Json] = field(factory=list[Json])
    messages: list[Json] = field(factory=list[Json])


def trace_prefix(text: str) -> str:
    """Return the beginning of a trace id that `text` names: the id, a part of it, or a whole `traceparent`.

    Raises:
        ValueError: it is neither.
    """
    found = re.fullmatch(r"(?:[0-9a-f]{2}-)?([0-9a-f]{6,32})(?:-[0-9a-f]{16}-[0-9a-f]{2}.*)?", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no trace id; give at least {MIN_TRACE_CHARS} of its hexadecimal digits")
    return found[1]


def read_records(home: Path) -> dict[str, Records]:
    """Return what the logs of `home` have, by trace id, oldest first."""
    found: dict[str, Records] = {}
    for record in _lines(home):
        trace_id = _trace_id(record)
        if trace_id is None:
            continue
        records = found.setdefault(trace_id, Records())
        if isinstance(record.get("span"), dict):
            records.spans.append(record)
        elif record.get("logger") == "native_host":
            records.host.append(record)
        else:
            records.messages.append(record)
    return found


def _lines(home: Path) -> Iterator[Json]:
    broker, host = logs_folder(home) / LOG_NAME, host_log_file(home)
    for path in (broker, host):
        for file in (path.with_name(path.name + OLDER), path):
            try:
                text = file.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            for line in text.splitlines():
                record = _maybe_object(line)
                if record is not None:
                    yield record


def _maybe_object(line: str) -> Json | None:
    # What C code or a traceback wrote into the host's log is no JSON, and belongs to no trace.
    try:
        value: object = json.loads(line)
    except ValueError:
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def _trace_id(record: Json) -> str | None:
    parts = str(record.get("traceparent", "")).split("-")
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else None


def road_of(trace_id: str, records: Records) -> Road | None:
    """Return the road of one trace, or None when no span of it was written."""
    spans = sorted((_Span.of(record) for record in records.spans), key=lambda span: span.began_ms)
    if not spans:
        return None
    calls = [span for span in spans if span.kind == "call"]
    start_ms = spans[0].began_ms
    hosts = {str(record["traceparent"]).split("-")[2]: record for record in records.host}
    stretches: list[Stretch] = []
    placed: set[str] = set()
    for call in calls:
        stretches.append(call.stretch("broker", 0, start_ms))
        for request in spans:
            if request.parent_id == call.id:
                placed.add(request.id)
                stretches += _request(request, hosts.get(request.id), start_ms)
    for request in spans:  # of a call whose own line is not there (yet): it runs, or its process was killed
        if request.kind == "request" and request.id not in placed:
            stretches += _request(request, hosts.get(request.id), start_ms)
    return Road(trace_id, start_ms, tuple(stretches), tuple(records.messages))


@frozen
class _Span:
    id: str
    parent_id: str | None
    kind: str
    name: str
    began_ms: float
    took_ms: float
    result: str
    hops: dict[str, float]

    @classmethod
    def of(cls, record: Json) -> _Span:
        fields = cast("Json", record["span"])
        hops = fields.get("hops")
        return cls(
            id=str(record["traceparent"]).split("-")[2],
            parent_id=cast("str | None", fields.get("parent_id")),
            kind=str(fields.get("kind")),
            name=str(fields.get("name")),
            began_ms=_number(fields.get("began_ms")),
            took_ms=_number(fields.get("took_ms")),
            result=str(fields.get("result")),
            hops={name: _number(ms) for name, ms in cast("Json", hops).items()} if isinstance(hops, dict) else {},
        )

    def stretch(self, where: str, depth: int, start_ms: float) -> Stretch:
        return Stretch(where, self.name, depth, self.began_ms - start_ms, self.took_ms, self.result)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _request(request: _Span, host: Json | None, start_ms: float) -> list[Stretch]:
    around = request.stretch("broker", 1, start_ms)
    stretches = [around]
    if host is not None:
        took_ms = min(_number(host.get("took_ms")), around.took_ms)
        # The host wrote when it passed the answer on; clocks are one, the line's rounding is a millisecond.
        ended_ms = datetime.fromisoformat(str(host["at"])).timestamp() * 1000 - start_ms
        latest_ms = around.began_ms + around.took_ms - took_ms
        began_ms = max(around.began_ms, min(ended_ms - took_ms, latest_ms))
        around = Stretch("host", str(host.get("message", "")).partition(" ")[0], 2, began_ms, took_ms)
        stretches.append(around)
    for where, hop in HOPS:
        if hop in request.hops:
            took_ms = min(request.hops[hop], around.took_ms)
            began_ms = around.began_ms + (around.took_ms - took_ms) / 2
            around = Stretch(where, "", around.depth + 1, began_ms, took_ms)
            stretches.append(around)
    return stretches
