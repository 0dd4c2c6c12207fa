"""The work, in the same words for every client; only the standard library is imported."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

SEQUENTIAL, IN_FLIGHT_CALLS, IN_FLIGHT = 2000, 5000, 100
LARGE_BYTES, LARGE_CALLS = 10 * 1024 * 1024, 3
EVENTS = 50_000
LARGE_EXPRESSION = f"'x'.repeat({LARGE_BYTES})"
EVENTS_EXPRESSION = f"for (let i = 0; i < {EVENTS}; i++) benchEvent('e' + i)"
WARM_UP = 2000
"""A browser that has just started is busy with itself for a second, and its first callers pay for it."""


class Phases:
    """Wall and CPU time of each phase: units a second, and microseconds of CPU a unit.

    `with_helpers` adds the CPU of child processes: Playwright's work is done by a node process.
    """

    def __init__(self, *, with_helpers: bool = False) -> None:
        self.found: dict[str, float] = {}
        self._with_helpers = with_helpers

    def measure(self, name: str, units: float) -> _Phase:
        return _Phase(self, name, units)

    def cpu_s(self) -> float:
        own = time.process_time()
        return own + (sum(map(_cpu_of, _children())) if self._with_helpers else 0.0)

    def print(self) -> None:
        print(json.dumps(self.found), flush=True)


class _Phase:
    def __init__(self, phases: Phases, name: str, units: float) -> None:
        self._phases, self._name, self._units = phases, name, units

    def __enter__(self) -> None:
        self._cpu_s, self._start_s = self._phases.cpu_s(), time.perf_counter()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            wall_s, cpu_s = time.perf_counter() - self._start_s, self._phases.cpu_s() - self._cpu_s
            self._phases.found[self._name] = self._units / wall_s
            self._phases.found[f"{self._name}_cpu_us"] = cpu_s / self._units * 1e6


def _children() -> list[int]:
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def run_asyncio(client: object, *, with_helpers: bool = False) -> None:
    """Do the work with an asyncio client: `browser(method)`, `page(method, params)`, `listen(method, callback)`."""
    phases = Phases(with_helpers=with_helpers)
    browser, page, listen = client.browser, client.page, client.listen  # type: ignore[attr-defined]
    for _ in range(WARM_UP):
        await browser("Browser.getVersion")
    with phases.measure("sequential", SEQUENTIAL):
        for _ in range(SEQUENTIAL):
            await browser("Browser.getVersion")
    left = IN_FLIGHT_CALLS

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await browser("Browser.getVersion")

    with phases.measure("in_flight", IN_FLIGHT_CALLS):
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    with phases.measure("large_mb", LARGE_CALLS * LARGE_BYTES / 1e6):
        for _ in range(LARGE_CALLS):
            await page("Runtime.evaluate", {"expression": LARGE_EXPRESSION, "returnByValue": True})
    seen, all_seen = 0, asyncio.Event()

    def count(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == EVENTS:
            all_seen.set()

    await listen("Runtime.bindingCalled", count)
    await page("Runtime.addBinding", {"name": "benchEvent"})
    with phases.measure("events", EVENTS):
        await page("Runtime.evaluate", {"expression": EVENTS_EXPRESSION})
        await asyncio.wait_for(all_seen.wait(), 60)
    phases.print()
