"""Where the kill matrix stops a write, and what it kills there: plain data (C-025).

A point is either a place in the broker, where `broker_entry` stops the whole process and says so on a pipe, or a
request that the emulated service holds while it is in flight.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from attrs import field, frozen


class Victim(StrEnum):
    """What dies."""

    BROKER = "broker"
    HOST = "native host"
    RENDERER = "renderer"
    BROWSER = "browser"
    EXTENSION = "extension reload"


@frozen
class Stop:
    """The broker stops before or after one statement of the journal, or after the answer to one request.

    `subject` is the step of the statement, the RPC id, or empty; `nth` counts calls that match, from 1.
    """

    when: str
    what: str
    subject: str = ""
    nth: int = 1

    @property
    def name(self) -> str:
        subject = f"({self.subject})" if self.subject else ""
        nth = f" no. {self.nth}" if self.nth > 1 else ""
        return f"{self.when} {self.what}{subject}{nth}"

    @property
    def as_argument(self) -> str:
        return f"{self.when}:{self.what}:{self.subject}:{self.nth}"

    @classmethod
    def parse(cls, text: str) -> Stop:
        when, what, subject, nth = text.split(":")
        return cls(when, what, subject, int(nth))


@frozen
class Hold:
    """The service holds the request of `target`: before it takes effect, or after it and without an answer."""

    target: str
    is_effective: bool
    nth: int = 1

    @property
    def name(self) -> str:
        done = "took effect, answer held" if self.is_effective else "held before its effect"
        nth = f" no. {self.nth}" if self.nth > 1 else ""
        return f"{self.target}{nth} {done}"

    @property
    def fault(self) -> dict[str, Any]:
        held = (
            {"fault": "commit_then_drop", "stall": True} if self.is_effective else {"fault": "delay", "delay_ms": 4000}
        )
        return {"rpc": self.target, **held, "skip": self.nth - 1}


Point = Stop | Hold


@frozen
class WriteCase:
    """One writing tool with its points. `creates` is the RPC id that must never be sent twice for one key."""

    name: str
    tool: str
    creates: str
    points: tuple[Point, ...] = field(repr=False)


def _requests(step: str, rpc: str) -> tuple[Point, ...]:
    """The points around one request of a write."""
    return (
        Stop("before", "mark_sent", step),
        Stop("after", "mark_sent", step),
        Hold(rpc, is_effective=False),
        Hold(rpc, is_effective=True),
        Stop("after", "answer", rpc),
        Stop("after", "prove_step", step),
    )


_BEGIN: tuple[Point, ...] = (Stop("before", "begin"), Stop("after", "begin"))
_END: tuple[Point, ...] = (Stop("before", "confirm"), Stop("after", "confirm"))

WRITES: tuple[WriteCase, ...] = (
    WriteCase("add_source text", "add_source", "izAoDd", (*_BEGIN, *_requests("add", "izAoDd"), *_END)),
    WriteCase(
        "create_note",
        "create_note",
        "CYK0Xb",
        (*_BEGIN, *_requests("create", "CYK0Xb"), *_requests("fill", "cYAfTb"), *_END),
    ),
    WriteCase("delete_note", "delete_note", "AH0mwd", (*_BEGIN, *_requests("delete", "AH0mwd"), *_END)),
    WriteCase(
        "add_source file",
        "add_source",
        "o4cbdc",
        (
            *_BEGIN,
            *_requests("register", "o4cbdc"),
            Hold("upload.start", is_effective=False),
            Hold("upload.start", is_effective=True),
            Stop("after", "answer", "upload_start"),
            Stop("after", "mark_sent", "upload"),
            Hold("upload.slice", is_effective=False, nth=2),
            Hold("upload.slice", is_effective=True, nth=2),
            Stop("after", "answer", "upload_slice", 2),
            Stop("before", "mark_sent", "upload", 2),
            Stop("after", "mark_sent", "upload", 2),
            Hold("upload.finalize", is_effective=False),
            Hold("upload.finalize", is_effective=True),
            Stop("after", "answer", "upload_finish"),
            Stop("after", "prove_step", "upload"),
            *_END,
        ),
    ),
)


@frozen
class Cell:
    """One write, one point, one victim."""

    write: WriteCase
    point: Point
    victim: Victim

    @property
    def name(self) -> str:
        return f"{self.write.name} / {self.point.name} / {self.victim}"


def all_cells() -> list[Cell]:
    """Every combination, those of one victim together: a browser that is killed needs another one."""
    return [Cell(write, point, victim) for victim in Victim for write in WRITES for point in write.points]
