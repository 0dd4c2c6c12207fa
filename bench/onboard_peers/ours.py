"""This project's client: the pipe, the extension loaded over it, a page opened meanwhile. argv: extension page."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import trio

from cdp import Connection, find_browser, launch, run_connection
from cdp.domains import target
from cdp.extensions import load_unpacked, worker_session
from cdp.polling import until
from cdp.targets import attached, evaluate
from native_host.protocol import EXTENSION_ID
from onboarding.extension_browser import IS_READY


async def main(extension: str, page: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        started_s = time.perf_counter()
        args = [*os.environ["BENCH_BROWSER_FLAGS"].split(), "--enable-unsafe-extension-debugging", "about:blank"]
        async with launch(
            find_browser(), user_data_dir=Path(folder), args=args, debug_port=None, pipe=True, shutdown_timeout_s=0
        ) as launched:
            assert launched.pipe is not None
            async with run_connection(launched.pipe) as connection:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(load, connection, extension)
                    nursery.start_soon(open_page, connection, page)
                print(json.dumps({"ready_ms": (time.perf_counter() - started_s) * 1e3}), flush=True)


async def load(connection: Connection, extension: str) -> None:
    await load_unpacked(connection, Path(extension), EXTENSION_ID)
    async with worker_session(connection, EXTENSION_ID, IS_READY):
        return


async def open_page(connection: Connection, url: str) -> None:
    made = await connection.execute(target.CreateTarget(url))
    async with attached(connection, made.targetId) as session:
        await until(lambda: evaluate(session, f"location.href === {url!r} && document.readyState === 'complete'"))


trio.run(main, *sys.argv[1:])
