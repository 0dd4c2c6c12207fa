"""What the matrix found, kept line by line, and the table of `docs/reliability.md` made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs
from attrs import frozen

from tests.reliability.cells import Verdict
from tests.reliability.points import WRITES, Cell, Victim

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / ".kill-matrix.jsonl"
PAGE: Final = ROOT / "docs" / "reliability.md"
BEGIN: Final = "<!-- the matrix, written by `make kill-matrix` -->"
END: Final = "<!-- end of the matrix -->"


@frozen
class Result:
    """One line of the results."""

    cell: str
    reached: bool
    holds: bool
    outcome: str
    items: int
    creates: int


def keep_result(verdict: Verdict) -> None:
    """Add one verdict to the results."""
    result = Result(verdict.cell.name, verdict.reached, verdict.holds, verdict.outcome, verdict.items, verdict.creates)
    with RESULTS.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(attrs.asdict(result)) + "\n")


def read_results() -> dict[str, Result]:
    """Return the results so far by the name of the cell."""
    if not RESULTS.exists():
        return {}
    results = [Result(**json.loads(line)) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {result.cell: result for result in results}


def write_report(results: Mapping[str, Result]) -> None:
    """Put the table between the two marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(results)}\n{END}{after}", encoding="utf-8")


def table(results: Mapping[str, Result]) -> str:
    """Return one table per write: a row per point, a column per victim."""
    held = sum(result.holds for result in results.values())
    done = sum(result.holds and result.outcome == "done" for result in results.values())
    parts = [f"{len(results)} cells, {held} hold: {done} done, {held - done} honestly unknown.", ""]
    for write in WRITES:
        parts += [f"### {write.name}", "", "| stopped at | " + " | ".join(Victim) + " |"]
        parts.append("|---" * (len(Victim) + 1) + "|")
        for point in write.points:
            shown = [_shown(results.get(Cell(write, point, victim).name)) for victim in Victim]
            parts.append(f"| {point.name} | " + " | ".join(shown) + " |")
        parts.append("")
    return "\n".join(parts)


def _shown(result: Result | None) -> str:
    if result is None:
        return "not run"
    if not result.reached:
        return "**not reached**"
    outcome = {"done": "done", "MUTATION_UNKNOWN": "unknown"}.get(result.outcome, result.outcome)
    shown = f"{outcome}, {result.items}"
    return shown if result.holds else f"**{shown}**"
