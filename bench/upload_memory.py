"""Memory of each process during uploads of 20 and of 200 MB: what grows with the file, and what stays.

Method: one chain; the small upload goes first, so that everything is imported and warm. PSS of every process is sampled
four times a second during each upload; before, peak and after stand for the large one. "×10 file" is its peak less the
peak of the small one: a process whose memory does not depend on the file's size shows about 0 there.
"""

from __future__ import annotations

import sys
from typing import Any

import trio

from bench.files import add_file, make_file, project_folder
from bench.process_memory import SAMPLE_S, chain_processes, pss_mb

SMALL_BYTES = 20 * 1000 * 1000
LARGE_BYTES = 200 * 1000 * 1000
SETTLE_S = 3.0

Memory = dict[str, float]


class Peaks:
    """The highest of what was seen of each process."""

    def __init__(self) -> None:
        self.mb: Memory = {}

    def see(self, memory: Memory) -> None:
        """Take one sample in."""
        for name, mb in memory.items():
            self.mb[name] = max(mb, self.mb.get(name, 0.0))


async def measure(large_bytes: int) -> dict[str, Any]:
    """Return memory by process name before, at the peak of and after the large upload, and at the small one's."""
    from harness.chain import open_chain
    from harness.emulator.seed import EMPTY_PLAN_ID
    from harness.mcp_client import SERVE_COMMAND, open_client

    with project_folder() as folder:
        small, large = make_file(folder, SMALL_BYTES), make_file(folder, large_bytes)
        async with open_chain() as chain, open_client(SERVE_COMMAND, env=chain.env, cwd=folder) as client:

            def look() -> Memory:
                return pss_mb(chain_processes(client.process.pid, chain.launched.pid))

            async def upload(path: Any, key: str) -> tuple[Memory, float]:
                peaks = Peaks()
                async with trio.open_nursery() as nursery:

                    async def sample() -> None:
                        while True:
                            peaks.see(await trio.to_thread.run_sync(look))
                            await trio.sleep(SAMPLE_S)

                    nursery.start_soon(sample)
                    seconds = await add_file(client, path, key)
                    nursery.cancel_scope.cancel()
                return peaks.mb, seconds

            await client.initialize()
            await client.call_tool("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
            small_peak, _ = await upload(small, "small")
            await trio.sleep(SETTLE_S)
            before = look()
            large_peak, seconds = await upload(large, "large")
            await trio.sleep(SETTLE_S)
            return {
                "before": before,
                "peak": large_peak,
                "after": look(),
                "small_peak": small_peak,
                "mb_s": large_bytes / 1e6 / seconds,
            }


def table(result: dict[str, Any]) -> str:
    """Render the Markdown table."""
    lines = ["| process, PSS in MB | before | peak | after | growth | × 10 file |", "|---|---|---|---|---|---|"]
    for name, before in result["before"].items():
        peak, after = result["peak"].get(name, 0.0), result["after"].get(name, 0.0)
        by_size = peak - result["small_peak"].get(name, 0.0)
        lines.append(f"| {name} | {before:.1f} | {peak:.1f} | {after:.1f} | {peak - before:+.1f} | {by_size:+.1f} |")
    return "\n".join(lines)


def run(large_bytes: int = LARGE_BYTES) -> dict[str, Any]:
    """Run the benchmark."""
    return trio.run(measure, large_bytes)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE_BYTES)))
