"""`serve`: process start to the answers of initialize and tools/list, beside a bare SDK server and a bare interpreter.

Method: servers are started in turn (A B C A B C …) with an empty private home, initialize is written at once, then
initialized and tools/list; resident memory is read from /proc after tools/list. Medians over `rounds`, and the ratio to
the bare SDK taken round by round, because machines are noisy.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}},
}
SERVERS = {
    "bare interpreter": [sys.executable, str(HERE / "servers" / "bare_python.py")],
    "bare mcp SDK server": [sys.executable, str(HERE / "servers" / "bare_sdk.py")],
    "notebook-gateway serve": [sys.executable, "-m", "notebook_gateway", "serve"],
}


def start_once(command: list[str], home: str) -> tuple[float, float, float]:
    """Start a server once. Returns ms to initialize, ms to tools/list, and resident MB after it."""
    env = {"PATH": os.environ["PATH"], "HOME": home, "NOTEBOOK_GATEWAY_HOME": home}
    started = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(message: dict[str, object]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        send(INITIALIZE)
        json.loads(process.stdout.readline())
        initialize_ms = (time.perf_counter() - started) * 1e3
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert json.loads(process.stdout.readline())["result"]["tools"]
        list_ms = (time.perf_counter() - started) * 1e3
        status = Path(f"/proc/{process.pid}/status").read_text()
        rss_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        process.stdin.close()
        process.wait(timeout=10)
    return initialize_ms, list_ms, rss_kb / 1024


def run(rounds: int = 7) -> dict[str, dict[str, float]]:
    """Run the comparison; returns medians by server name."""
    samples: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SERVERS}
    with tempfile.TemporaryDirectory() as home:
        for command in SERVERS.values():  # one warm-up each: bytecode and file cache
            start_once(command, home)
        for _ in range(rounds):
            for name, command in SERVERS.items():
                samples[name].append(start_once(command, home))
    base = samples["bare mcp SDK server"]
    return {
        name: {
            "initialize_ms": statistics.median(s[0] for s in rows),
            "tools_list_ms": statistics.median(s[1] for s in rows),
            "rss_mb": statistics.median(s[2] for s in rows),
            "tools_list_ratio_to_sdk": statistics.median(s[1] / b[1] for s, b in zip(rows, base, strict=True)),
        }
        for name, rows in samples.items()
    }


def table(result: dict[str, dict[str, float]]) -> str:
    """Render the Markdown table."""
    lines = [
        "| server | to initialize, ms | to tools/list, ms | tools/list, × bare SDK | resident MB |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {row['initialize_ms']:.0f} | {row['tools_list_ms']:.0f} "
        f"| {row['tools_list_ratio_to_sdk']:.2f} | {row['rss_mb']:.1f} |"
        for name, row in result.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
