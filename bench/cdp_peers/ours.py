"""This project's client. argv: pipe | ws-url."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import trio

from bench.cdp_peers import workload as w
from cdp import Connection, find_browser, launch, open_connection, run_connection
from cdp.targets import attached, get_targets


async def work(connection: Connection) -> None:
    """Do the work through `call`, and count the events of one subscription."""
    phases = w.Phases()
    for _ in range(w.WARM_UP):
        await connection.call("Browser.getVersion")
    with phases.measure("sequential", w.SEQUENTIAL):
        for _ in range(w.SEQUENTIAL):
            await connection.call("Browser.getVersion")
    left = w.IN_FLIGHT_CALLS

    async def call_on() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await connection.call("Browser.getVersion")

    with phases.measure("in_flight", w.IN_FLIGHT_CALLS):
        async with trio.open_nursery() as nursery:
            for _ in range(w.IN_FLIGHT):
                nursery.start_soon(call_on)
    page = next(target for target in await get_targets(connection) if target.type == "page")
    async with attached(connection, page.id) as session:
        with phases.measure("large_mb", w.LARGE_CALLS * w.LARGE_BYTES / 1e6):
            for _ in range(w.LARGE_CALLS):
                await session.call("Runtime.evaluate", {"expression": w.LARGE_EXPRESSION, "returnByValue": True})
        await session.call("Runtime.addBinding", {"name": "benchEvent"})
        with session.events("Runtime.bindingCalled", capacity=w.EVENTS) as events, phases.measure("events", w.EVENTS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.call, "Runtime.evaluate", {"expression": w.EVENTS_EXPRESSION})
                for _ in range(w.EVENTS):
                    await anext(events)
    phases.print()


async def main() -> None:
    """Over the WebSocket that is given, or over the pipe of a browser of our own."""
    if sys.argv[1] != "pipe":
        async with open_connection(sys.argv[1]) as connection:
            await work(connection)
        return
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "p")
        args = [*os.environ["BENCH_BROWSER_FLAGS"].split(), "about:blank"]
        async with launch(find_browser(), user_data_dir=profile, args=args, debug_port=None, pipe=True) as launched:
            assert launched.pipe is not None
            async with run_connection(launched.pipe) as connection:
                await work(connection)


trio.run(main)
