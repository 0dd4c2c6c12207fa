"""Showing the checklist: a live list for people, one JSON document per line for programs."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Final, Protocol, Self

import click
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from notebook_gateway.console import console
from onboarding.checklist import Checklist, Status, StepEvent

MARKS: Final = {
    Status.PENDING: "[dim]·[/]",
    Status.STARTED: "[cyan]…[/]",
    Status.WAITING: "[yellow]?[/]",
    Status.DONE: "[green]✓[/]",
    Status.SKIPPED: "[dim]-[/]",
    Status.FAILED: "[bold red]✗[/]",
}


class View(Protocol):
    """Shows events while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, event: StepEvent) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class JsonLines:
    """``--json``: nothing but one document per line."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def show(self, event: StepEvent) -> None:
        click.echo(json.dumps(event.as_json()))

    def pause(self) -> None:
        """Nothing is in the way of a question."""

    def resume(self) -> None:
        """See `pause`."""


class LiveList:
    """The list, drawn anew at each event. Without a terminal it is printed once, at the end."""

    def __init__(self, checklist: Checklist) -> None:
        self._checklist = checklist
        self._live = Live(render(checklist), console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, event: StepEvent) -> None:
        self._live.update(render(self._checklist), refresh=True)
        if event.status is Status.WAITING and not console.is_terminal:
            console.print(f"waiting: {event.message}", markup=False)

    def pause(self) -> None:
        self._live.stop()

    def resume(self) -> None:
        self._live.start(refresh=True)


def render(checklist: Checklist) -> Table:
    """Return the list as a table."""
    table = Table.grid(padding=(0, 2))
    for row in checklist.rows:
        ms = "" if row.ms is None else f"[dim]{row.ms / 1000:.1f} s[/]"
        table.add_row(MARKS[row.status], escape(row.title), escape(row.message), ms)
    return table
