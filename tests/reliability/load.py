"""Sixteen brokers on one browser for ten minutes: `python -m tests.reliability.load --minutes 10`.

Two halves. In the first the agents think between their mixed calls, as agents do, and a small call's latency is
compared with that of one agent alone. In the second nobody thinks, so that there is never enough, and the brokers'
shares are compared. Memory of broker and host is read at the start and at the end.

Starvation is a broker that gets less than half of what the best one gets; the p99 of a small call may be five times its
idle median; a process may not be larger at the end than `MAX_GROWTH` times its size after the warm-up.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from statistics import median, quantiles

import attrs
import trio

from harness.chain import Chain, open_chain
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from harness.mcp_client import SERVE_COMMAND, McpClient, open_client
from tests.e2e.tool_calls import select
from tests.reliability.processes import Size, host_pids, size_of
from tests.reliability.verdict import say

BROKERS = 16
CALL_TIMEOUT_S = 60.0
IDLE_CALLS = 100
WARM_UP_CALLS = 10
THINKING_S = (1.0, 3.0)
MAX_LATENCY_RATIO = 5.0
MIN_SHARE = 0.5
MAX_GROWTH = 1.5
SMALL_CALL = "get_notebook_metadata"
MIX = {SMALL_CALL: 5, "list_sources": 3, "list_notes": 1, "query_notebook": 1}


@attrs.define
class Report:
    """`troubles` is empty when the load was held."""

    seconds: float = 0.0
    idle_median_ms: float = 0.0
    small_ms: list[float] = attrs.field(factory=list[float])
    calls_thinking: Counter[int] = attrs.field(factory=Counter[int])
    calls_flat_out: Counter[int] = attrs.field(factory=Counter[int])
    errors: Counter[str] = attrs.field(factory=Counter[str])
    brokers_first: list[Size] = attrs.field(factory=list[Size])
    brokers_last: list[Size] = attrs.field(factory=list[Size])
    host_first: list[Size] = attrs.field(factory=list[Size])
    host_last: list[Size] = attrs.field(factory=list[Size])
    troubles: list[str] = attrs.field(factory=list[str])

    @property
    def p99_ms(self) -> float:
        return quantiles(self.small_ms, n=100)[98]

    @property
    def fairness(self) -> float:
        return min(self.calls_flat_out.values()) / max(self.calls_flat_out.values())


class Agent:
    """One agent with a broker of its own."""

    def __init__(self, number: int, client: McpClient, report: Report) -> None:
        self._number = number
        self._client = client
        self._report = report
        self._dice = random.Random(number)
        self._questions = 0

    async def work(self, until_s: float, done: Counter[int], *, thinks: bool) -> None:
        while trio.current_time() < until_s:
            if thinks:
                await trio.sleep(self._dice.uniform(*THINKING_S))
            (tool,) = self._dice.choices(list(MIX), list(MIX.values()))
            took_ms = await self._call(tool)
            done[self._number] += 1
            if thinks and tool == SMALL_CALL:
                self._report.small_ms.append(took_ms)

    async def small_call(self) -> float:
        return await self._call(SMALL_CALL)

    async def _call(self, tool: str) -> float:
        arguments: dict[str, object] = {}
        if tool == "query_notebook":
            self._questions += 1
            arguments = {"question": DEMO_QUESTION, "request_key": f"{self._number}-{self._questions}"}
        started = time.perf_counter()
        with trio.fail_after(CALL_TIMEOUT_S):
            outcome = await self._client.call_tool(tool, arguments)
        took_ms = (time.perf_counter() - started) * 1000
        if outcome["isError"]:
            self._report.errors[outcome["structuredContent"]["error"]["code"]] += 1
        return took_ms


async def run_load(seconds: float) -> Report:
    """Run it all."""
    report = Report()
    started = time.monotonic()
    async with open_chain() as chain, AsyncExitStack() as stack:
        clients: list[McpClient] = []
        for _ in range(BROKERS):
            client = await stack.enter_async_context(open_client(SERVE_COMMAND, env=chain.env))
            with trio.fail_after(CALL_TIMEOUT_S):
                await client.initialize()
                await select(client, LIGHTHOUSE_ID)
            clients.append(client)
        agents = [Agent(number, client, report) for number, client in enumerate(clients)]
        for _ in range(WARM_UP_CALLS):
            await agents[0].small_call()
        report.idle_median_ms = median([await agents[0].small_call() for _ in range(IDLE_CALLS)])
        await _all(agents, 5.0, Counter(), thinks=False)  # warm up, and reach every cache's size
        report.brokers_first, report.host_first = _sizes(clients, chain)
        await _all(agents, seconds / 2, report.calls_thinking, thinks=True)
        await _all(agents, seconds / 2, report.calls_flat_out, thinks=False)
        report.brokers_last, report.host_last = _sizes(clients, chain)
    report.seconds = time.monotonic() - started
    judge(report)
    return report


async def _all(agents: list[Agent], seconds: float, done: Counter[int], *, thinks: bool) -> None:
    until_s = trio.current_time() + seconds
    async with trio.open_nursery() as nursery:
        for agent in agents:
            nursery.start_soon(partial(agent.work, until_s, done, thinks=thinks))


def _sizes(clients: list[McpClient], chain: Chain) -> tuple[list[Size], list[Size]]:
    return [size_of(client.process.pid) for client in clients], [size_of(pid) for pid in host_pids(chain.home)]


def judge(report: Report) -> None:
    """Add a sentence to `troubles` for each bar that was missed."""
    if report.errors:
        report.troubles.append(f"errors: {dict(report.errors)}")
    if report.p99_ms > MAX_LATENCY_RATIO * report.idle_median_ms:
        report.troubles.append(
            f"p99 of a small call is {report.p99_ms / report.idle_median_ms:.1f} times its idle median"
        )
    if report.fairness < MIN_SHARE:
        report.troubles.append(f"the worst broker got {report.fairness:.2f} of the best one's calls")
    pairs = [*zip(report.brokers_first, report.brokers_last, strict=True)]
    pairs += zip(report.host_first, report.host_last, strict=True)
    for first, last in pairs:
        if last.memory_kib > MAX_GROWTH * first.memory_kib:
            report.troubles.append(f"a process grew from {first.memory_kib} to {last.memory_kib} KiB")
        if last.descriptors > first.descriptors + 4:
            report.troubles.append(f"a process went from {first.descriptors} to {last.descriptors} descriptors")


def table(report: Report) -> str:
    """Return the Markdown of docs/reliability.md."""
    thinking, flat_out = sum(report.calls_thinking.values()), sum(report.calls_flat_out.values())
    first = max(size.memory_kib for size in report.brokers_first) / 1024
    last = max(size.memory_kib for size in report.brokers_last) / 1024
    host_first, host_last = report.host_first[0].memory_kib / 1024, report.host_last[0].memory_kib / 1024
    rows = (
        ("calls while agents think", f"{thinking:,}", ""),
        ("small call, one agent alone, median", f"{report.idle_median_ms:.1f} ms", ""),
        ("small call under load, p99", f"{report.p99_ms:.1f} ms", f"≤ {MAX_LATENCY_RATIO:g} × the above"),
        ("that ratio", f"{report.p99_ms / report.idle_median_ms:.1f}", f"≤ {MAX_LATENCY_RATIO:g}"),
        ("calls flat out", f"{flat_out:,}", ""),
        ("worst broker ÷ best broker", f"{report.fairness:.2f}", f"≥ {MIN_SHARE:g}"),
        ("errors", str(sum(report.errors.values())), "0"),
        ("largest broker, first and last", f"{first:.0f} MiB, {last:.0f} MiB", f"≤ {MAX_GROWTH:g} ×"),
        ("native host, first and last", f"{host_first:.1f} MiB, {host_last:.1f} MiB", f"≤ {MAX_GROWTH:g} ×"),
    )
    head = f"| {BROKERS} brokers, {report.seconds / 60:.1f} minutes | measured | bar |\n|---|---:|---|"
    return "\n".join((head, *(f"| {what} | {value} | {bar} |" for what, value, bar in rows)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.load")
    parser.add_argument("--minutes", type=float, default=10.0)
    report = trio.run(run_load, parser.parse_args().minutes * 60)
    return say(table(report), Counter(report.troubles))


if __name__ == "__main__":
    sys.exit(main())
