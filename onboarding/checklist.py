"""The checklist: what has happened to each step so far, and the events that change it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import attrs

from onboarding.steps import Step


class Status(StrEnum):
    PENDING = "pending"
    STARTED = "started"
    WAITING = "waiting"
    """A person is waited for; the message says what for."""
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


ENDS = frozenset({Status.DONE, Status.SKIPPED, Status.FAILED})


@attrs.frozen
class StepEvent:
    """Something happened to a step. `code` and `fix` belong to a failure; not `is_new` means it was done already."""

    step: str
    status: Status
    message: str = ""
    code: str | None = None
    fix: str | None = None
    is_new: bool = True
    ms: float | None = None

    def as_json(self) -> dict[str, object]:
        """Return the line of ``--json``."""
        line: dict[str, object] = {"event": "step", "step": self.step, "status": self.status, "message": self.message}
        if self.status is Status.DONE:
            line["changed"] = self.is_new
        if self.status is Status.FAILED:
            line |= {"code": self.code, "fix": self.fix}
        if self.ms is not None:
            line["ms"] = round(self.ms, 1)
        return line


@attrs.frozen
class Row:
    """One line of the list."""

    step: str
    title: str
    status: Status = Status.PENDING
    message: str = ""
    ms: float | None = None


class Checklist:
    """All rows as they are now, in their order."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._rows = {str(step.id): Row(step.id, step.title) for step in steps}

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(self._rows.values())

    @property
    def is_complete(self) -> bool:
        """Whether every step is done, or left out on request."""
        return all(row.status in (Status.DONE, Status.SKIPPED) for row in self.rows)

    def apply(self, event: StepEvent) -> None:
        """Take an event over. An event about an ended step is a mistake of the caller."""
        row = self._rows[event.step]
        assert row.status not in ENDS, f"{event.step} has ended as {row.status}"
        self._rows[event.step] = attrs.evolve(row, status=event.status, message=event.message, ms=event.ms)
