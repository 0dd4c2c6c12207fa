"""From launching the browser to: our extension ready in it, and a local page loaded. Beside the floor and two peers.

Per round, each way in a new order, on a fresh profile, from after its own imports; the median of the rounds counts, the
first round is thrown away. The peers are those of `bench.cdp_clients`.

Usage: python -m bench.onboarding [--rounds 7]
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import random
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from bench.cdp_clients import FLAGS, HOME, REPOSITORY, set_up
from cdp.finder import find_browser
from onboarding.extension_browser import EXTENSION_FOLDER, IS_READY

SCRIPTS = Path(__file__).parent / "onboard_peers"
FLOOR, OURS, PLAYWRIGHT, PUPPETEER = "floor", "ours", "playwright", "puppeteer-core"
TIMEOUT_S = 60.0


class Page(http.server.BaseHTTPRequestHandler):
    """One small page."""

    def do_GET(self) -> None:  # the library's name
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>t</title>ok")

    def log_message(self, format: str, *args: object) -> None:  # the library's name
        """Say nothing."""


def run(rounds: int = 7) -> tuple[dict[str, float], dict[str, str]]:
    """Return the median of each way in milliseconds, and why ways are missing."""
    peers, missing = set_up()
    ways = {
        FLOOR: [sys.executable, "-m", "bench.onboard_peers.floor"],
        OURS: [sys.executable, "-m", "bench.onboard_peers.ours"],
    }
    if PLAYWRIGHT in peers:
        ways[PLAYWRIGHT] = [peers[PLAYWRIGHT][0], str(SCRIPTS / "playwright_context.py")]
    if PUPPETEER in peers:
        ways[PUPPETEER] = ["node", str(SCRIPTS / "puppeteer_launch.mjs")]
    environ = {
        **os.environ,
        "BENCH_BROWSER": str(find_browser().path),
        "BENCH_BROWSER_FLAGS": FLAGS,
        "BENCH_IS_READY": IS_READY,
        "BENCH_NODE": str(HOME / "node"),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            for number in range(rounds + 1):
                for name in random.sample(list(ways), len(ways)):
                    command = [*ways[name], str(EXTENSION_FOLDER), url]
                    try:
                        done = subprocess.run(
                            command, env=environ, cwd=REPOSITORY, capture_output=True, check=True, timeout=TIMEOUT_S
                        )
                    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                        missing[name] = f"failed in a round: {(error.stderr or b'').decode(errors='replace')[-300:]}"
                        continue
                    if number:
                        found[name].append(json.loads(done.stdout)["ready_ms"])
        finally:
            server.shutdown()
            serving.join()
    return {name: statistics.median(times) for name, times in found.items() if times}, missing


def table(result: tuple[dict[str, float], dict[str, str]]) -> str:
    """Return the times with their ratios as Markdown."""
    medians, missing = result
    lines = ["| way | ready, ms | × floor | × playwright |", "|---|---|---|---|"]
    playwright = medians.get(PLAYWRIGHT)
    for name, ready_ms in sorted(medians.items(), key=lambda row: row[1]):
        beside = "-" if playwright is None else f"{ready_ms / playwright:.2f}"
        lines.append(f"| {name} | {ready_ms:.0f} | {ready_ms / medians[FLOOR]:.2f} | {beside} |")
    lines += [f"\n{name} is missing: {reason}" for name, reason in missing.items()]
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(table(run(parser.parse_args().rounds)))


if __name__ == "__main__":
    main()
