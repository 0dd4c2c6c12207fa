"""One `list_sources`, end to end, against the same fetch in a loop inside the page alone.

Method: one chain; rounds of page loop, then tool calls through `serve`, one at a time and with 16 in flight; the ratio
is taken round by round. The page loop sends the very request that `list_sources` causes (rLM1Ne) and reads the body as
text. The per-hop table comes from the calls' own `_meta.hops_ms`.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import trio

CALLS = 200
IN_FLIGHT = 16

PAGE_LOOP = """
(async (notebook, calls, inFlight) => {
  const wiz = window.WIZ_global_data;
  const options = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
  const inner = JSON.stringify([notebook, null, options, null, 0]);
  const outer = JSON.stringify([[['rLM1Ne', inner, null, 'generic']]]);
  const query = new URLSearchParams({
    rpcids: 'rLM1Ne', 'source-path': '/notebook/' + notebook, 'f.sid': wiz.FdrFJe, hl: 'en', rt: 'c',
    authuser: wiz.oPEP7c,
  });
  const one = async () => {
    const body = 'f.req=' + encodeURIComponent(outer) + '&at=' + encodeURIComponent(wiz.SNlM0e) + '&';
    const response = await fetch('/_/LabsTailwindUi/data/batchexecute?' + query, {
      method: 'POST', body, credentials: 'include',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded;charset=UTF-8' },
    });
    return (await response.text()).length;
  };
  for (let i = 0; i < 10; i++) if (!(await one())) throw new Error('empty');
  let left = calls;
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, async () => { while (left-- > 0) await one(); }));
  return performance.now() - started;
})
"""


async def page_rate(chain: Any, notebook: str, in_flight: int) -> float:
    """Return the page's own rate, calls per second."""
    elapsed_ms = await chain.evaluate_in_tab(f"{PAGE_LOOP}('{notebook}', {CALLS}, {in_flight})")
    return CALLS / float(elapsed_ms) * 1e3


async def tool_rate(client: Any, in_flight: int) -> tuple[float, dict[str, float]]:
    """Return the rate of `list_sources` calls and the median milliseconds of each hop."""
    hops: dict[str, list[float]] = {}
    left = CALLS

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            before = time.perf_counter()
            outcome = await client.call_tool("list_sources", {}, meta={"io.notebook-gateway/hops": True})
            total_ms = (time.perf_counter() - before) * 1e3
            envelope = outcome["structuredContent"]
            assert envelope["ok"], envelope
            for name, ms in (envelope["_meta"].get("hops_ms") or {}).items():
                hops.setdefault(name, []).append(ms)
            hops.setdefault("total (client)", []).append(total_ms)

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(in_flight):
            nursery.start_soon(worker)
    elapsed_s = time.perf_counter() - started
    return CALLS / elapsed_s, {name: statistics.median(values) for name, values in hops.items()}


async def measure(rounds: int) -> dict[str, Any]:
    """Run the comparison in one chain."""
    from harness.chain import open_chain
    from harness.emulator import DEMO_NOTEBOOK_ID
    from harness.mcp_client import SERVE_COMMAND, open_client

    rows: dict[int, list[tuple[float, float]]] = {1: [], IN_FLIGHT: []}
    hops: dict[str, float] = {}
    async with open_chain() as chain, open_client(SERVE_COMMAND, env=chain.env) as client:
        await client.initialize()
        await client.call_tool("list_notebooks", {})
        await client.call_tool("select_notebook", {"notebook_id": DEMO_NOTEBOOK_ID, "save_for_project": False})
        await tool_rate(client, 4)  # warm-up
        for _ in range(rounds):
            for in_flight, samples in rows.items():
                page = await page_rate(chain, DEMO_NOTEBOOK_ID, in_flight)
                tool, seen = await tool_rate(client, in_flight)
                samples.append((page, tool))
                if in_flight == 1:
                    hops = seen
    return {
        "in_flight": {
            str(n): {
                "page_calls_per_s": statistics.median(p for p, _ in samples),
                "tool_calls_per_s": statistics.median(t for _, t in samples),
                "ratio": statistics.median(t / p for p, t in samples),
            }
            for n, samples in rows.items()
        },
        "hops_ms": hops,
    }


def table(result: dict[str, Any]) -> str:
    """Render the Markdown tables."""
    lines = ["| in flight | page alone, calls/s | `list_sources`, calls/s | ratio |", "|---|---|---|---|"]
    for in_flight, row in result["in_flight"].items():
        page, tool, ratio = row["page_calls_per_s"], row["tool_calls_per_s"], row["ratio"]
        lines.append(f"| {in_flight} | {page:.0f} | {tool:.0f} | {ratio:.2f} |")
    lines += ["", "| hop, one at a time | median ms |", "|---|---|"]
    lines += [f"| {name} | {ms:.2f} |" for name, ms in result["hops_ms"].items()]
    return "\n".join(lines)


def run(rounds: int = 5) -> dict[str, Any]:
    """Run the benchmark."""
    return trio.run(measure, rounds)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
