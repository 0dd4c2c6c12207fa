"""How `status` looks to a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.table import Table
from rich.text import Text

from notebook_gateway.console import console
from notebook_gateway.status_report import CompanionReport, RequestsReport, StatusReport


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
    if report.requests is not None:
        table.add_row("requests", "", Text(_requests(report.requests)))
    if report.unknown_writes:
        table.add_row("journal", "", Text(f"{report.unknown_writes} write(s) unknown"))
    for name, what in _resources(report.resources):
        table.add_row(name, "", Text(what))
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


def _requests(requests: RequestsReport) -> str:
    limit = f"of {requests.per_minute} " if requests.per_minute else ""
    blocked = f"; the service wants to be left alone for {requests.blocked_s:g} s" if requests.blocked_s else ""
    return f"{requests.last_minute} {limit}in the last minute{blocked}"


def _resources(resources: dict[str, object]) -> Iterator[tuple[str, str]]:
    if resources:
        yield "resources", _limits(cast("dict[str, object]", resources["profile"]))
        for name, limits in cast("dict[str, dict[str, object]]", resources["processes"]).items():
            yield f"  {name}", _limits(limits)


def _limits(limits: dict[str, object]) -> str:
    words = {"cpus": "processors {}", "memory_mb": "{} MB of data in each process", "nice": "nice {}"}
    return ", ".join(words[name].format(value) for name, value in limits.items() if value is not None)


def _notebooks(value: object) -> str:
    if value == "*":
        return "all notebooks of the account"
    if isinstance(value, list):
        count = len(value)  # pyright: ignore[reportUnknownArgumentType]  # only its length is shown
        return f"{count} notebook{'' if count == 1 else 's'}"
    return "nothing allowed"
