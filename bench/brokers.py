"""Eight brokers on one companion: calls per second together, and how fairly they are served.

Method: eight links to one native host, each making `rLM1Ne` reads one after the other for the same time; fairness is
the slowest broker's count over the fastest's.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import trio

BROKERS = 8
SECONDS = 5.0
OPTIONS = [2, None, None, [1, None, None, None, None, None, None, None, None, None, [1]]]


async def measure(seconds: float) -> dict[str, float]:
    """Run eight brokers side by side; returns the rates."""
    from broker.link import open_link
    from broker.trace import continue_or_begin_trace
    from harness.chain import open_chain
    from harness.emulator import DEMO_NOTEBOOK_ID

    counts = [0] * BROKERS
    async with open_chain() as chain:

        async def one(index: int, until: float) -> None:
            async with open_link(chain.socket) as link:
                while trio.current_time() < until:
                    result = await link.call(
                        "rpc",
                        {"rpc": "rLM1Ne", "params": [DEMO_NOTEBOOK_ID, None, OPTIONS, None, 0]},
                        notebook=DEMO_NOTEBOOK_ID,
                        account=chain.account,
                        deadline_s=trio.current_time() + 20,
                        traceparent=continue_or_begin_trace(None),
                    )
                    value: Any = result.value
                    assert value["status"] == 200
                    counts[index] += 1

        await one_warm_up(one, counts)
        started = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for index in range(BROKERS):
                nursery.start_soon(one, index, trio.current_time() + seconds)
        elapsed_s = time.perf_counter() - started
    return {
        "calls_per_s": sum(counts) / elapsed_s,
        "slowest_broker": min(counts) / elapsed_s,
        "fastest_broker": max(counts) / elapsed_s,
        "fairness": min(counts) / max(counts),
    }


async def one_warm_up(one: Any, counts: list[int]) -> None:
    """Warm the page up and forget the counts."""
    await one(0, trio.current_time() + 1)
    counts[:] = [0] * len(counts)


def table(result: dict[str, float]) -> str:
    """Render the Markdown table."""
    return "\n".join(
        [
            "| brokers | calls/s together | slowest broker, calls/s | fastest | slowest ÷ fastest |",
            "|---|---|---|---|---|",
            f"| {BROKERS} | {result['calls_per_s']:.0f} | {result['slowest_broker']:.1f} "
            f"| {result['fastest_broker']:.1f} | {result['fairness']:.2f} |",
        ]
    )


def run(seconds: float = SECONDS) -> dict[str, float]:
    """Run the benchmark."""
    return trio.run(measure, seconds)


if __name__ == "__main__":
    print(table(run(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)))
