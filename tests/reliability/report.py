"""The table of `docs/reliability.md`, written by the matrix itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.reliability.cells import Verdict
from tests.reliability.points import Victim

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- matrix: written by `make kill-matrix` -->"
END: Final = "<!-- end of the matrix -->"


def write_report(verdicts: Sequence[Verdict], page: Path = PAGE) -> None:
    """Replace the part between the two marks."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table(verdicts)}\n{END}{after}", encoding="utf-8")


def table(verdicts: Sequence[Verdict]) -> str:
    """Return one table per write: a row per point, a column per victim."""
    by_write: dict[str, dict[str, dict[Victim, Verdict]]] = defaultdict(lambda: defaultdict(dict))
    for verdict in verdicts:
        by_write[verdict.cell.write.name][verdict.cell.point.name][verdict.cell.victim] = verdict
    parts: list[str] = []
    for write, points in by_write.items():
        parts += [f"### {write}", "", "| stopped | " + " | ".join(Victim) + " |", "|---" * (len(Victim) + 1) + "|"]
        for point, cells in points.items():
            shown = " | ".join(_shown(cells.get(victim)) for victim in Victim)
            parts.append(f"| {point} | {shown} |")
        parts.append("")
    return "\n".join(parts)


def _shown(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not run"
    if not verdict.reached:
        return "not reached"
    outcome = (
        "done" if verdict.outcome == "done" else "unknown" if verdict.outcome == "MUTATION_UNKNOWN" else verdict.outcome
    )
    return f"{outcome}, {verdict.items}" if verdict.holds else f"**{outcome}, {verdict.items}**"
