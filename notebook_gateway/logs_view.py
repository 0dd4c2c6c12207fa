"""How `logs` looks to a person: a list of calls, or one call's road as a waterfall."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.table import Table
from rich.text import Text

from notebook_gateway.console import console
from notebook_gateway.logs_report import Road, Stretch

BAR_CHARS = 40
SHORT_ID_CHARS = 12
"""Enough for `--trace`, and a line fits into 80 columns."""


def show_roads(roads: Iterable[Road]) -> None:
    """Print one line per trace, newest first."""
    table = Table(show_edge=False)
    for name in ("time", "tool", "result", "ms", "trace"):
        table.add_column(name, justify="right" if name == "ms" else "left", no_wrap=name == "trace")
    for road in roads:
        first = road.stretches[0]
        began = datetime.fromtimestamp(road.began_ms / 1000).astimezone().strftime("%d %b %H:%M:%S")
        table.add_row(began, Text(first.name), _result(first), f"{road.took_ms:.1f}", road.trace_id[:SHORT_ID_CHARS])
    console.print(table)


def show_road(road: Road) -> None:
    """Print every stretch with its length and its place in time."""
    began = datetime.fromtimestamp(road.began_ms / 1000).astimezone().isoformat(timespec="milliseconds")
    console.print(Text(f"trace {road.trace_id}, {began}, {road.took_ms:.1f} ms"))
    table = Table(show_edge=False, box=None, pad_edge=False)
    table.add_column("where")
    table.add_column(f"0 to {road.took_ms:.0f} ms", min_width=BAR_CHARS, no_wrap=True)
    table.add_column("ms", justify="right")
    table.add_column("result")
    for stretch in road.stretches:
        label = f"{'  ' * stretch.depth}{stretch.where} {stretch.name}".rstrip()
        table.add_row(Text(label), Text(bar(stretch, road.took_ms)), f"{stretch.took_ms:.1f}", _result(stretch))
    console.print(table)
    for message in road.messages:
        console.print(Text(f"{message.get('at')} {message.get('level')} {message.get('message')}"))


def bar(stretch: Stretch, whole_ms: float) -> str:
    """Return the stretch as blocks, at least one, in a field of `BAR_CHARS`."""
    scale = BAR_CHARS / whole_ms if whole_ms > 0 else 0.0
    start = min(BAR_CHARS - 1, round(stretch.began_ms * scale))
    length = max(1, min(BAR_CHARS - start, round(stretch.took_ms * scale)))
    return " " * start + "█" * length


def _result(stretch: Stretch) -> Text:
    if stretch.result is None:
        return Text("")
    return Text(stretch.result, style="green" if stretch.result in ("ok", "asked") else "red")
