"""How the walk looks to a person: each hop as it becomes known, and under it what is wrong and the one thing to do."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from rich.text import Text

from notebook_gateway.console import console
from onboarding.doctor.findings import TITLES
from onboarding.doctor.report import HopReport, Report, Verdict

MARKS: Final = MappingProxyType(
    {
        Verdict.FINE: ("✓", "green"),
        Verdict.NOTE: ("!", "yellow"),
        Verdict.WRONG: ("✗", "bold red"),
        Verdict.NOT_REACHED: ("·", "dim"),
    }
)
TITLE_WIDTH: Final = max(len(title) for title in TITLES.values())


def show_hop(report: HopReport) -> None:
    """Print one hop."""
    mark, style = MARKS[report.verdict]
    line = Text.assemble((mark, style), f" {TITLES[report.hop]:<{TITLE_WIDTH}}  ", (report.detail, "dim"))
    console.print(line, soft_wrap=True)
    for finding in report.findings:
        console.print(Text(f"    {finding.kind.means}", style=style), soft_wrap=True)
        console.print(Text(f"    {finding.detail}  [{finding.id}]", style="dim"), soft_wrap=True)
        console.print(Text(f"    → {finding.kind.fix}"), soft_wrap=True)


def show_end(report: Report) -> None:
    """Print what the walk comes to."""
    console.print()
    if report.is_fine:
        console.print("[green]✓[/] Every hop leads on: a call works now.")
        return
    fatal = [finding for finding in report.findings if finding.kind.is_fatal]
    console.print(Text(f"✗ {fatal[0].kind.means}", style="bold red"), soft_wrap=True)
    console.print(Text(f"  Do this first: {fatal[0].kind.fix}"), soft_wrap=True)
    console.print(Text("  Each finding is explained in docs/troubleshooting.md.", style="dim"), soft_wrap=True)
