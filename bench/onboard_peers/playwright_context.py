"""Playwright's persistent context with the extension on the command line. argv: extension page."""

import json
import os
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

extension, url = sys.argv[1:]
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    started_s = time.perf_counter()
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=os.environ["BENCH_BROWSER"],
            headless=False,  # or it wants its own build; the flags say headless
            ignore_default_args=["--disable-extensions"],
            args=[
                *os.environ["BENCH_BROWSER_FLAGS"].split(),
                f"--disable-extensions-except={extension}",
                f"--load-extension={extension}",
            ],
        )
        context.pages[0].goto(url, wait_until="load")
        worker = context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        while not worker.evaluate(os.environ["BENCH_IS_READY"]):
            time.sleep(0.003)
        print(json.dumps({"ready_ms": (time.perf_counter() - started_s) * 1e3}), flush=True)
        context.close()
