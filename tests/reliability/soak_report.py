"""What a soak counts, what of it is trouble, and the table of docs/reliability.md made from it. Pure."""

from __future__ import annotations

from collections import Counter
from statistics import linear_regression, median
from typing import Final

import attrs

from tests.reliability.processes import Size
from tests.reliability.soak_faults import FAULTS

MAX_GROWTH: Final = 1.5
"""How much larger than after the first fault a broker may be at the end."""
SPARE_DESCRIPTORS: Final = 4
SPARE_THREADS: Final = 4


@attrs.define
class Report:
    """What happened. `troubles` is empty in a clean soak."""

    agents: int
    seconds: float = 0.0
    calls: Counter[str] = attrs.field(factory=Counter[str])
    errors: dict[str, Counter[str]] = attrs.field(factory=dict[str, Counter[str]])
    """By the fault that had happened last, then by code."""
    recent: list[str] = attrs.field(factory=list[str])
    """The faults so far, in order."""
    recoveries_s: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])
    slowest_call_s: float = 0.0
    killed_brokers: int = 0
    writes: dict[str, str] = attrs.field(factory=dict[str, str])
    sizes: list[tuple[float, Size]] = attrs.field(factory=list[tuple[float, Size]])
    troubles: Counter[str] = attrs.field(factory=Counter[str])

    def add_error(self, tool: str, code: str, text: str) -> None:
        """Count an error; one that neither of the last two faults explains is trouble.

        Two, because a call that began under one fault may end under the next.
        """
        fault = self.recent[-1] if self.recent else "nothing"
        self.errors.setdefault(fault, Counter())[code] += 1
        if not any(code in FAULTS[name].codes for name in self.recent[-2:]):
            self.troubles[f"{tool} after {' and '.join(self.recent[-2:]) or 'nothing'}: {text}"] += 1

    def check_writes(self, found: Counter[str]) -> None:
        """Compare what was said of each write with how often it is there."""
        for key, said in self.writes.items():
            if found[key] > 1:
                self.troubles[f"note {key!r} is there {found[key]} times"] += 1
            if said == "done" and not found[key]:
                self.troubles[f"note {key!r} was called done and is not there"] += 1
            if said == "rejected" and found[key]:
                self.troubles[f"note {key!r} was called rejected and is there"] += 1

    def check_growth(self) -> None:
        """Compare what the broker that lived all the time holds at the end with what it held at the start."""
        first, last = self.sizes[0][1], self.sizes[-1][1]
        warm = self.sizes[min(1, len(self.sizes) - 1)][1]
        if last.memory_kib > MAX_GROWTH * warm.memory_kib:
            self.troubles[f"the watching broker's memory grew from {warm.memory_kib} to {last.memory_kib} KiB"] += 1
        if last.descriptors > first.descriptors + SPARE_DESCRIPTORS:
            self.troubles[f"the watching broker's descriptors grew from {first.descriptors} to {last.descriptors}"] += 1
        if last.threads > first.threads + SPARE_THREADS:
            self.troubles[f"the watching broker's threads grew from {first.threads} to {last.threads}"] += 1


def memory_slope_kib_per_min(sizes: list[tuple[float, Size]]) -> float:
    """Return the slope of the least-squares line through memory over time, without the first fifth (warm-up)."""
    kept = sizes[len(sizes) // 5 :]
    if len({at_s for at_s, _ in kept}) < 2:
        return 0.0
    return linear_regression([at_s / 60 for at_s, _ in kept], [size.memory_kib for _, size in kept]).slope


def table(report: Report) -> str:
    """Return the Markdown of docs/reliability.md."""
    codes = sum(report.errors.values(), Counter[str]())
    said = Counter(report.writes.values())
    first, last = report.sizes[0][1], report.sizes[-1][1]
    slope = memory_slope_kib_per_min(report.sizes)
    wrong = sum(trouble.startswith("note ") for trouble in report.troubles)
    lines = [
        f"- {report.seconds / 60:.1f} minutes, {len(report.recent)} faults, {sum(report.calls.values()):,} calls by"
        f" {report.agents} agents; {report.killed_brokers} of their brokers killed. Slowest call"
        f" {report.slowest_call_s:.1f} s.",
        f"- {sum(codes.values())} calls ended with an error: {_counted(codes)}.",
        f"- {len(report.writes)} notes: {said['done']} done, {said['rejected']} rejected, {said['unknown']} unknown,"
        f" {said['begun']} cut off with their agent. Doubled, lost, or not what was said: {wrong}.",
        f"- The broker that lived all the time: {first.memory_kib // 1024} MiB, at last {last.memory_kib // 1024} MiB"
        f" ({slope:+.0f} KiB a minute); {first.descriptors} descriptors, at last {last.descriptors};"
        f" {first.threads} threads, at last {last.threads}.",
        "",
        "| fault | times | served again after, median | worst | how calls ended |",
        "|---|---:|---:|---:|---|",
    ]
    for fault in FAULTS:
        took = report.recoveries_s.get(fault)
        if took:
            ended = _counted(report.errors.get(fault, Counter()))
            lines.append(f"| {fault} | {len(took)} | {median(took):.1f} s | {max(took):.1f} s | {ended} |")
    return "\n".join(lines)


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in codes.most_common()) or "no error"
