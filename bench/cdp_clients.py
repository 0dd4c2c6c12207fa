"""CDP clients beside each other in one run: ours over pipe and WebSocket, and six others.

Per round, each client in a new order gets a fresh browser and does the same work: `Browser.getVersion` one after the
other, then with 100 in flight; 10 MB answers; 50,000 events. The median of the rounds counts. A unit's CPU is the
client's own, with Playwright's node process counted as Playwright's.

Usage: python -m bench.cdp_clients [--rounds 3]
The peers are installed from PyPI and npm into $BENCH_HOME (default: a folder in the temporary directory), outside of
the repository; one that cannot be installed is named in the result and left out. It prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import trio

from cdp import find_browser, launch

REPOSITORY = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "cdp_peers"
HOME = Path(os.environ.get("BENCH_HOME", Path(tempfile.gettempdir()) / "notebook-gateway-bench"))
VERSIONS = {"playwright": "1.65.2", "pychrome": "0.2.4", "cdp-use": "1.4.5", "zendriver": "0.17.1"}
PUPPETEER = "24.43.1"
FLAGS = "--headless=new --disable-gpu --no-first-run" + (" --no-sandbox" if os.geteuid() == 0 else "")
TIMEOUT_S = 120.0
PIPE, WEBSOCKET, PLAIN, PLAYWRIGHT = "ours, pipe", "ours, WebSocket", "plain trio-websocket", "playwright"

Results = dict[str, dict[str, float]]


def set_up() -> tuple[dict[str, list[str]], dict[str, str]]:
    """Install the peers; return the command of each client, and why the others are missing."""
    commands = {
        PIPE: [sys.executable, "-m", "bench.cdp_peers.ours", "pipe"],
        WEBSOCKET: [sys.executable, "-m", "bench.cdp_peers.ours", "{url}"],
        PLAIN: [sys.executable, "-m", "bench.cdp_peers.plain_trio_websocket", "{url}"],
    }
    missing = dict[str, str]()
    for name, version in VERSIONS.items():
        folder = HOME / name
        python = folder / "bin" / "python"
        if not python.exists():
            venv.create(folder, with_pip=True)
        failure = _fails([str(python), "-m", "pip", "install", "-q", f"{name}=={version}"], folder)
        if failure is None:
            script = SCRIPTS / f"{name.replace('-', '_')}_client.py"
            commands[name] = [str(python), str(script), "{url}"]
        else:
            missing[name] = failure
    node = HOME / "node"
    node.mkdir(parents=True, exist_ok=True)
    failure = _fails(["npm", "install", "--silent", "--prefix", str(node), f"puppeteer-core@{PUPPETEER}"], node)
    if failure is None:
        commands["puppeteer-core"] = ["node", str(SCRIPTS / "puppeteer_client.mjs"), "{url}"]
    else:
        missing["puppeteer-core"] = failure
    return commands, missing


def _fails(command: list[str], folder: Path) -> str | None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]


async def run_client(command: list[str]) -> dict[str, float]:
    """Give one client a fresh browser and return what it measured."""
    environ = {**os.environ, "BENCH_BROWSER_FLAGS": FLAGS, "BENCH_NODE": str(HOME / "node")}
    if command[-1] == "pipe":  # it starts its own
        return await _output(command, environ)
    with tempfile.TemporaryDirectory() as folder:
        # A first page that stays where it is: one on its way elsewhere refuses an evaluation now and then.
        args = [*FLAGS.split(), "about:blank"]
        async with launch(find_browser(), user_data_dir=Path(folder, "p"), args=args) as launched:
            return await _output([*command[:-1], launched.cdp_url], environ)


async def _output(command: list[str], environ: dict[str, str]) -> dict[str, float]:
    with trio.fail_after(TIMEOUT_S):
        done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, env=environ, cwd=REPOSITORY)
    return json.loads(done.stdout)


def run(rounds: int = 3) -> tuple[Results, dict[str, str]]:
    """Return the medians of each client, and why clients are missing."""
    commands, missing = set_up()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name in random.sample(list(commands), len(commands)):
            try:
                found[name].append(trio.run(run_client, commands[name]))
            except (subprocess.CalledProcessError, trio.TooSlowError) as error:
                stderr = getattr(error, "stderr", None) or b""
                missing[name] = f"failed in a round: {stderr.decode(errors='replace')[-200:] or error}"
            print(f"{name}: {found[name][-1:]}", file=sys.stderr, flush=True)
    medians = {
        name: {key: statistics.median(result[key] for result in results) for key in results[0]}
        for name, results in found.items()
        if results
    }
    return medians, missing


def table(result: tuple[Results, dict[str, str]]) -> str:
    """Return the rates with their ratios to Playwright and the plain client, and the CPU, as Markdown."""
    medians, missing = result
    playwright, plain = medians.get(PLAYWRIGHT), medians[PLAIN]
    lines = [
        "| client | sequential, calls/s | × playwright | × plain | 100 in flight, calls/s | × playwright | × plain "
        "| 10 MB answers, MB/s | events/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    order = sorted(medians, key=lambda name: -medians[name]["in_flight"])
    for name in order:
        row = medians[name]
        cells = [name]
        for key in ("sequential", "in_flight"):
            beside = "-" if playwright is None else f"{row[key] / playwright[key]:.1f}"
            cells += [f"{row[key]:,.0f}", beside, f"{row[key] / plain[key]:.2f}"]
        cells += [f"{row['large_mb']:.1f}", f"{row['events']:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "| client's CPU | µs a call, sequential | µs a call, in flight | ms a MB received | µs an event |",
        "|---|---|---|---|---|",
    ]
    for name in order:
        row = medians[name]
        cells = [row["sequential_cpu_us"], row["in_flight_cpu_us"], row["large_mb_cpu_us"] / 1e3, row["events_cpu_us"]]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    lines += [f"\n{name} is missing: {reason}" for name, reason in missing.items()]
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    before = os.getloadavg()[0]
    print(table(run(parser.parse_args().rounds)))
    print(f"\nLoad average before the run: {before:.1f}, after it: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
