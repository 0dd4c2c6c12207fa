"""Start `serve`, make one call, close its input, again and again: `python -m tests.reliability.cycles --count 1000`.

Every process has to end by itself with status 0. Afterwards there is no process more than before, no file or socket of
ours more, and the native host holds the descriptors it held after the first cycle.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter

import attrs
import trio

from cdp.processes import MARK_VARIABLE, members
from harness.chain import open_chain
from harness.mcp_client import SERVE_COMMAND, open_client
from tests.e2e.home_files import files_of_ours
from tests.reliability.processes import Size, host_pids, size_of
from tests.reliability.verdict import say

CYCLE_TIMEOUT_S = 30.0


@attrs.define
class Report:
    """`troubles` is empty when nothing was left."""

    count: int
    seconds: float
    slowest_end_ms: float
    host_first: Size
    host_last: Size
    troubles: list[str]


async def run_cycles(count: int) -> Report:
    """Run them one after the other against one chain."""
    troubles: list[str] = []
    mark = secrets.token_hex(8)
    slowest_end_ms = 0.0
    started = time.monotonic()
    async with open_chain() as chain:
        env = {**chain.env, MARK_VARIABLE: mark}
        slowest_end_ms = await _cycle(env, troubles)
        (host,) = host_pids(chain.home)
        before, host_first = files_of_ours(chain.home), size_of(host)
        for _ in range(count - 1):
            slowest_end_ms = max(slowest_end_ms, await _cycle(env, troubles))
        left = members(-1, mark)
        if left:
            troubles.append(f"{len(left)} process(es) are left")
        more = sorted(str(path.relative_to(chain.home)) for path in files_of_ours(chain.home) - before)
        if more:
            troubles.append(f"files are left: {', '.join(more[:10])}")
        if host_pids(chain.home) != [host]:
            troubles.append("the native host is another one")
        host_last = size_of(host)
        if host_last.descriptors > host_first.descriptors:
            troubles.append(f"the host's descriptors grew from {host_first.descriptors} to {host_last.descriptors}")
    return Report(count, time.monotonic() - started, slowest_end_ms, host_first, host_last, troubles)


async def _cycle(env: dict[str, str], troubles: list[str]) -> float:
    """Run one; returns the milliseconds from the end of its input to its own end."""
    with trio.fail_after(CYCLE_TIMEOUT_S):
        async with open_client(SERVE_COMMAND, env=env) as client:
            await client.initialize()
            outcome = await client.call_tool("list_notebooks", {})
            closed = time.perf_counter()
            status = await client.close()
            took_ms = (time.perf_counter() - closed) * 1000
        if outcome["isError"]:
            troubles.append(f"a call failed: {outcome['structuredContent']['error']['code']}")
        if status != 0:
            troubles.append(f"serve ended with status {status}")
        if client.stderr_lines:
            troubles.append(f"serve said: {client.stderr_lines[-1][:200]}")
    return took_ms


def sentence(report: Report) -> str:
    """Return the line of docs/reliability.md."""
    return (
        f"{report.count:,} cycles in {report.seconds / 60:.1f} minutes; the slowest end of a process took "
        f"{report.slowest_end_ms:.0f} ms. The native host: {report.host_first.descriptors} descriptors and "
        f"{report.host_first.memory_kib / 1024:.1f} MiB after the first, {report.host_last.descriptors} and "
        f"{report.host_last.memory_kib / 1024:.1f} MiB after the last."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.cycles")
    parser.add_argument("--count", type=int, default=1000)
    report = trio.run(run_cycles, parser.parse_args().count)
    return say(sentence(report), Counter(report.troubles))


if __name__ == "__main__":
    sys.exit(main())
