"""`list_sources` of one broker while another uploads a large file through the same companion.

Method: one chain, two `serve`. The second calls `list_sources` one after the other: first with nobody else at work,
then from the first part of the upload on, then idle again. Both idle phases count as idle. The emulated service runs in
this process and digests what is uploaded, so the calls share its processor time as well.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import trio

from bench.files import add_file, make_file, project_folder

SIZE_BYTES = 60 * 1000 * 1000
IDLE_CALLS = 150


async def one_call_ms(client: Any) -> float:
    """Return what one `list_sources` takes as the client sees it."""
    started = time.perf_counter()
    outcome = await client.call_tool("list_sources", {})
    assert outcome["structuredContent"]["ok"], outcome["structuredContent"]
    return (time.perf_counter() - started) * 1e3


async def measure(size_bytes: int) -> dict[str, list[float]]:
    """Return milliseconds of all calls, by what else went on."""
    from harness.chain import open_chain
    from harness.emulator import DEMO_NOTEBOOK_ID
    from harness.emulator.seed import EMPTY_PLAN_ID
    from harness.mcp_client import SERVE_COMMAND, open_client

    idle: list[float] = []
    busy: list[float] = []
    with project_folder() as folder:
        file = make_file(folder, size_bytes)
        async with (
            open_chain() as chain,
            open_client(SERVE_COMMAND, env=chain.env, cwd=folder) as uploader,
            open_client(SERVE_COMMAND, env=chain.env) as reader,
        ):
            for client, notebook in ((uploader, EMPTY_PLAN_ID), (reader, DEMO_NOTEBOOK_ID)):
                await client.initialize()
                await client.call_tool("select_notebook", {"notebook_id": notebook, "save_for_project": False})
            for _ in range(20):  # warm-up
                await one_call_ms(reader)
            idle += [await one_call_ms(reader) for _ in range(IDLE_CALLS)]
            is_up = trio.Event()

            async def upload() -> None:
                await add_file(uploader, file, "latency")
                is_up.set()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(upload)
                await trio.sleep(1)  # past registration and start
                while not is_up.is_set():
                    busy.append(await one_call_ms(reader))
            idle += [await one_call_ms(reader) for _ in range(IDLE_CALLS)]
    return {"idle": idle, "during an upload": busy}


def table(result: dict[str, list[float]]) -> str:
    """Render the Markdown table."""
    idle_ms = statistics.median(result["idle"])
    lines = [
        "| `list_sources` | calls | median ms | 90 % within, ms | worst, ms | median × idle |",
        "|---|---|---|---|---|---|",
    ]
    for name, values in result.items():
        median, p90 = statistics.median(values), statistics.quantiles(values, n=10)[-1]
        lines.append(
            f"| {name} | {len(values)} | {median:.0f} | {p90:.0f} | {max(values):.0f} | {median / idle_ms:.1f} |"
        )
    return "\n".join(lines)


def run(size_bytes: int = SIZE_BYTES) -> dict[str, list[float]]:
    """Run the benchmark."""
    return trio.run(measure, size_bytes)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE_BYTES)))
