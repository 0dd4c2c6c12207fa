"""`notebook-gateway harness run`: read the file, run it, say how each scenario ended."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import trio
from rich.markup import escape

from harness.errors import ChainFailed
from harness.junit import CaseResult, junit_xml
from harness.scenario import BadScenario, parse_scenarios
from harness.scenario_run import run_scenarios
from notebook_gateway.console import console, fail

UNUSABLE: Final = 2


def run_and_report(file: Path, junit: Path | None, browsers: int) -> int:
    """Run a scenario file; returns the exit status 0 or 1, and exits with 2 when nothing could be run."""
    try:
        scenarios = parse_scenarios(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, BadScenario) as error:
        fail(f"{file}: {error}", "docs/harness.md describes the file.", exit_code=UNUSABLE)
    try:
        results = trio.run(lambda: run_scenarios(scenarios, browsers=browsers, on_case=show))
    except ChainFailed as error:
        fail(str(error), exit_code=UNUSABLE)
    if junit is not None:
        try:
            junit.write_bytes(junit_xml(file.stem, results))
        except OSError as error:
            fail(f"the report cannot be written to {junit}: {error.strerror}", exit_code=UNUSABLE)
    bad = sum(not result.has_passed for result in results)
    console.print(f"{len(results) - bad} of {len(results)} scenarios passed", highlight=False)
    return 1 if bad else 0


def show(result: CaseResult) -> None:
    """Print one line, and the reasons below it."""
    mark = "[green]ok[/]  " if result.has_passed else "[red]FAIL[/]"
    console.print(f"{mark} {escape(result.name)} [dim]{result.seconds:.1f} s[/]", highlight=False)
    for line in filter(None, (*result.problems, result.error)):
        console.print(f"     {escape(line)}", highlight=False, soft_wrap=True)
