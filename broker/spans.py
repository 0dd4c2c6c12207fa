"""How long each stretch of a call took, as records of one trace: what `logs` shows and OpenTelemetry gets.

A span is one stretch: a tool call, or one request that it made to the browser. Finished spans go to the logger of this
module; whoever wants them (the log file, an exporter) is a handler of it. A span holds names, times and codes, never
an argument or a result.
"""

from __future__ import annotations

import logging
import time
from typing import Final, Literal

from attrs import field, frozen

from broker.trace import child_of, span_id_of

log: Final = logging.getLogger(__name__)

Kind = Literal["call", "request"]

OK: Final = "ok"
ASKED: Final = "asked"
"""The call ended with a question to the person, and comes again with the answer."""


@frozen
class Span:
    """A finished stretch. `hops` are milliseconds by hop name, as in `RpcReply.hops`, where a request was answered."""

    kind: Kind
    name: str
    traceparent: str
    """Its own id is the last but one part."""
    parent_id: str | None
    began_ms: float
    """Epoch milliseconds."""
    took_ms: float
    result: str
    """``ok``, ``asked``, or the error's code."""
    hops: dict[str, float] = field(factory=dict[str, float])

    def as_json(self) -> dict[str, object]:
        """Return what the log file has of it, beside the `traceparent`."""
        fields: dict[str, object] = {
            "kind": self.kind,
            "name": self.name,
            "parent_id": self.parent_id,
            "began_ms": round(self.began_ms, 3),
            "took_ms": round(self.took_ms, 3),
            "result": self.result,
        }
        return {**fields, "hops": {name: round(ms, 3) for name, ms in self.hops.items()}} if self.hops else fields


class OpenSpan:
    """A stretch that has begun. `end` records it once; ending it again changes nothing."""

    __slots__ = ("_began_s", "_began_wall_s", "_is_over", "kind", "name", "parent_id", "traceparent")

    def __init__(self, kind: Kind, name: str, traceparent: str, parent_id: str | None) -> None:
        self.kind: Kind = kind
        self.name = name
        self.traceparent = traceparent
        self.parent_id = parent_id
        self._began_wall_s = time.time()
        self._began_s = time.perf_counter()
        self._is_over = False

    def __repr__(self) -> str:
        return f"<OpenSpan {self.name}{' over' if self._is_over else ''}>"

    @classmethod
    def request(cls, name: str, traceparent: str) -> OpenSpan:
        """Begin a request inside the call that `traceparent` names."""
        return cls("request", name, child_of(traceparent), span_id_of(traceparent))

    @property
    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._began_s) * 1000

    def end(self, result: str, hops: dict[str, float] | None = None) -> None:
        if self._is_over:
            return
        self._is_over = True
        if log.isEnabledFor(logging.INFO):
            began_ms = self._began_wall_s * 1000
            where = (self.kind, self.name, self.traceparent, self.parent_id)
            span = Span(*where, began_ms, self.elapsed_ms, result, hops or {})
            log.info("%s: %s", self.name, result, extra={"traceparent": self.traceparent, "span": span})
