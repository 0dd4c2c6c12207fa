"""How `status` looks to a person."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from notebook_gateway.console import console
from notebook_gateway.status_report import CompanionReport, StatusReport


def show_status(report: StatusReport) -> None:
    """Print the report: loud variables first, then each hop, then what to do next."""
    for name, value in report.environment.items():
        console.print(Text(f"! {name} is set: {value}", style="bold yellow"))
    table = Table(show_header=True, show_edge=False)
    table.add_column("hop")
    table.add_column("build")
    table.add_column("what")
    table.add_row("broker", report.build, Text(f"home {report.home}"))
    table.add_row("account", "", Text(report.account or "not configured"))
    table.add_row("allowlist.json", "", Text(_notebooks(report.allowlist)))
    if report.unknown_writes:
        table.add_row("journal", "", Text(f"{report.unknown_writes} write(s) unknown"))
    for companion in report.companions:
        _add_companion(table, companion)
    console.print(table)
    console.print()
    if report.ok:
        console.print("[green]✓[/] connected: a call would work now")
    for problem in report.problems:
        console.print(Text(f"✗ {problem}", style="red"))
    for step in dict.fromkeys(report.next_steps):
        console.print(Text(f"  next: {step}"))


def _add_companion(table: Table, companion: CompanionReport) -> None:
    pid = f", pid {companion.host_pid}" if companion.host_pid else ""
    table.add_row("native host", companion.host_build or "?", Text(f"{companion.socket}{pid}"))
    if companion.extension_build:
        table.add_row(
            "extension", companion.extension_build, Text(f"id {companion.extension_id}, profile {companion.profile}")
        )
        table.add_row("  its account", "", Text(companion.account or "not configured"))
        table.add_row("  its allowlist", "", Text(_notebooks(companion.notebooks)))
        table.add_row("page", "", Text("no notebook tab open" if companion.tab is None else str(companion.tab)))


def _notebooks(value: object) -> str:
    if value == "*":
        return "all notebooks of the account"
    if isinstance(value, list):
        count = len(value)  # pyright: ignore[reportUnknownArgumentType]  # only its length is shown
        return f"{count} notebook{'' if count == 1 else 's'}"
    return "nothing allowed"
