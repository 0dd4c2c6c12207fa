"""How `activity` looks to a person."""

from __future__ import annotations

import time

from rich.table import Table
from rich.text import Text

from notebook_gateway.activity_report import ActivityReport, ToolCall
from notebook_gateway.console import console


def show_activity(report: ActivityReport) -> None:
    """Print the calls, newest first, then what is wrong and what to do."""
    if report.calls:
        table = Table("time", "agent", "tool", "notebook", "took", "result", show_edge=False)
        for call in report.calls:
            table.add_row(*_cells(call))
        console.print(table)
    elif report.problem is None:
        console.print("No agent has called since the browser started.")
    if report.problem is not None:
        console.print(Text(f"✗ {report.problem}", style="red"))
        console.print(Text(f"  next: {report.next_step}"))


def _cells(call: ToolCall) -> tuple[Text, ...]:
    is_running = call.result is None
    style = "cyan" if is_running else "green" if call.result == "ok" else "red"
    took = "" if is_running else f"{(call.ended_ms - call.began_ms) / 1000:.1f} s"
    clock = time.strftime("%H:%M:%S", time.localtime(call.began_ms / 1000))
    plain = (clock, call.agent, call.tool, call.notebook or "-", took)
    return (*map(Text, plain), Text(call.result or "running", style=style))
