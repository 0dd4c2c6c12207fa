"""What the journal costs one write: each of its statements with and without fsync, and its share of a `create_note`.

Method: one chain; two `serve` on it, the real one and one whose journal is opened with ``synchronous = OFF`` (here
only). Round by round: one note through either, and beside it the journal's seven statements of one note on two files of
their own, through `broker.journal.Journal` as the broker calls them, thread hop included. The floor is a write of 4 KiB
with `fdatasync` on the same file system. Each number is the median and the minimum of all rounds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import trio

from bench.servers.unsynced_serve import UnsyncedStore
from broker.journal import Journal, open_journal
from broker.journal_rows import Request, fingerprint, payload_hash
from broker.process_lock import ProcessLock, is_alive
from native_host.paths import journal_file, run_folder

ROUNDS = 60
WARM_UP = 5
NOTES_BEFORE = 20
"""Ids in the list from before sending, which is stored with the create."""
UNSYNCED_SERVE = (sys.executable, "-P", str(Path(__file__).parent / "servers" / "unsynced_serve.py"))

Samples = dict[str, list[float]]


@asynccontextmanager
async def unsynced_journal(home: Path) -> AsyncGenerator[Journal]:
    """Open a journal that never waits for the disk."""
    lock = ProcessLock(run_folder(home))
    store = UnsyncedStore(journal_file(home), lock.owner, partial(is_alive, run_folder(home)))
    try:
        yield Journal(store, Random(0))
    finally:
        store.close()
        lock.close()


async def one_note(journal: Journal, number: int, samples: Samples) -> None:
    """Write down one note from its request to its result, and keep what each statement took."""
    notebook, note = "bench-notebook", f"note-{number:08}"
    request = Request(
        account="bench@example.com",
        tool="create_note",
        key=f"key-{number}",
        notebook_id=notebook,
        payload_hash=payload_hash(notebook, {"title": "T", "content": str(number)}),
        fingerprint=fingerprint("create"),
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    before = [f"{index:036}" for index in range(NOTES_BEFORE)]
    total_ms = 0.0

    async def timed(name: str, statement: Awaitable[Any]) -> Any:
        nonlocal total_ms
        started = time.perf_counter()
        answer = await statement
        elapsed_ms = (time.perf_counter() - started) * 1e3
        samples.setdefault(name, []).append(elapsed_ms)
        total_ms += elapsed_ms
        return answer

    row = (await timed("begin", journal.begin(request))).record.id
    assert await timed("lease", journal.try_lease(row, "note"))
    await timed("create is leaving", journal.mark_sent(row, "create", {"before": before}))
    await timed("create is proven", journal.prove_step(row, "create", {"remote_id": note}, note))
    await timed("fill is leaving", journal.mark_sent(row, "fill", {"remote_id": note}))
    await timed("fill is proven", journal.prove_step(row, "fill", {"remote_id": note}, None))
    await timed("confirm", journal.confirm(row, {"status": "created", "note_id": note, "title": "T"}))
    samples.setdefault("all", []).append(total_ms)


def disk_floor_ms(folder: Path) -> float:
    """Return what a write of 4 KiB and its `fdatasync` take."""
    with (folder / "floor").open("ab", buffering=0) as file:
        started = time.perf_counter()
        file.write(b"x" * 4096)
        os.fdatasync(file.fileno())
        return (time.perf_counter() - started) * 1e3


async def create_note_ms(client: Any, key: str) -> float:
    """Return what one `create_note` takes as the client sees it."""
    started = time.perf_counter()
    outcome = await client.call_tool("create_note", {"title": "T", "content": "C", "idempotency_key": key})
    assert outcome["structuredContent"]["result"]["status"] == "created", outcome["structuredContent"]
    return (time.perf_counter() - started) * 1e3


async def measure(rounds: int) -> dict[str, Any]:
    """Return the samples of all rounds, warm-up left out."""
    from harness.chain import open_chain
    from harness.emulator.seed import EMPTY_PLAN_ID
    from harness.mcp_client import SERVE_COMMAND, open_client

    synced: Samples = {}
    unsynced: Samples = {}
    tools: Samples = {"synced": [], "unsynced": []}
    floor: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(folder, name) for name in ("synced", "unsynced")]
        for home in homes:
            home.mkdir()
        async with (
            open_journal(homes[0]) as real,
            unsynced_journal(homes[1]) as fast,
            open_chain() as chain,
            open_client(SERVE_COMMAND, env=chain.env) as real_client,
            open_client(UNSYNCED_SERVE, env=chain.env) as fast_client,
        ):
            clients = {"synced": real_client, "unsynced": fast_client}
            for client in clients.values():
                await client.initialize()
                await client.call_tool("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})
            for number in range(rounds + WARM_UP):
                for name, client in clients.items():
                    tools[name].append(await create_note_ms(client, f"{name}-{number}"))
                await one_note(real, number, synced)
                await one_note(fast, number, unsynced)
                floor.append(disk_floor_ms(Path(folder)))
    warm = slice(WARM_UP, None)
    return {
        "synced": {name: values[warm] for name, values in synced.items()},
        "unsynced": {name: values[warm] for name, values in unsynced.items()},
        "tools": {name: values[warm] for name, values in tools.items()},
        "floor": floor[warm],
    }


def _both(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} / {min(values):.2f}"


def table(result: dict[str, Any]) -> str:
    """Render the Markdown tables."""
    lines = [
        "| statement, ms (median / minimum) | with fsync | without | ratio of medians |",
        "|---|---|---|---|",
        f"| floor: 4 KiB and `fdatasync` | {_both(result['floor'])} | – | – |",
    ]
    for name, synced in result["synced"].items():
        unsynced = result["unsynced"][name]
        ratio = statistics.median(synced) / statistics.median(unsynced)
        lines.append(f"| {name} | {_both(synced)} | {_both(unsynced)} | {ratio:.1f} |")
    tools, journals = result["tools"], {"synced": result["synced"]["all"], "unsynced": result["unsynced"]["all"]}
    lines += ["", "| one `create_note` | ms (median / minimum) | the journal's share |", "|---|---|---|"]
    for name, title in {"synced": "as it is", "unsynced": "without fsync"}.items():
        share = statistics.median(journals[name]) / statistics.median(tools[name])
        lines.append(f"| {title} | {_both(tools[name])} | {share:.0%} |")
    return "\n".join(lines)


def run(rounds: int = ROUNDS) -> dict[str, Any]:
    """Run the benchmark."""
    return trio.run(measure, rounds)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)))
