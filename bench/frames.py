"""Large answers through the native host and the broker's link: MB/s for bodies of 512 KiB and 8 MiB.

Method: the real host process (``python -I -S``); this program plays Chrome on its pipes and is the broker on its
socket. The played worker answers each call with a ready-made frame, so that host and link are what is measured; 4 calls
in flight. The floor is the same bytes through one pipe, read in 256 KiB steps by this program.
"""

from __future__ import annotations

import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
import trio

from broker.link import open_link
from broker.trace import continue_or_begin_trace
from native_host import paths
from native_host.build import BUILD
from native_host.protocol import EXTENSION_ID

HEADER = struct.Struct("=I")
ACCOUNT = "bench@example.com"
BODIES = {"512 KiB": 512 * 1024, "8 MiB": 8 * 1024 * 1024}
TOTAL_BYTES = 256 * 1024 * 1024
IN_FLIGHT = 4
READ_BYTES = 256 * 1024


class PlayedChrome:
    """Chrome's end of the host's pipes: says ready, then answers each call with a body of `body_bytes`."""

    def __init__(self, host: trio.Process) -> None:
        self.host = host
        self.tail = b""

    def set_body(self, size_bytes: int) -> None:
        """Prepare the answer; only connection and call number are put in later."""
        value = {"status": 200, "body": "x" * size_bytes, "retry_after_s": None}
        self.tail = b',"ok":true,"value":' + orjson.dumps(value) + b',"hops":{}}'

    async def say(self, payload: bytes) -> None:
        """Send one message to the host."""
        assert self.host.stdin is not None
        await self.host.stdin.send_all(HEADER.pack(len(payload)) + payload)

    async def run(self) -> None:
        """Answer until cancelled."""
        ready = {
            "conn": 0,
            "type": "ready",
            "v_min": 1,
            "v_max": 1,
            "build": BUILD,
            "extension_id": EXTENSION_ID,
            "profile": "bench",
            "account": ACCOUNT,
        }
        await self.say(orjson.dumps(ready))
        assert self.host.stdout is not None
        buffer = bytearray()
        while data := await self.host.stdout.receive_some(65536):
            buffer += data
            while len(buffer) >= HEADER.size:
                (length,) = HEADER.unpack_from(buffer)
                if len(buffer) < HEADER.size + length:
                    break
                message: dict[str, Any] = orjson.loads(bytes(buffer[HEADER.size : HEADER.size + length]))
                del buffer[: HEADER.size + length]
                if message["type"] == "call":
                    await self.say(b'{"conn":%d,"type":"result","id":%d' % (message["conn"], message["id"]) + self.tail)


async def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Return MB/s by body size."""
    host_main = Path(paths.__file__).parent / "__main__.py"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        command = [sys.executable, "-I", "-S", str(host_main), "--home", str(home)]
        host = await trio.lowlevel.open_process(
            [*command, f"chrome-extension://{EXTENSION_ID}/"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        chrome = PlayedChrome(host)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(chrome.run)
            with trio.fail_after(10):
                while not paths.companion_sockets(home):
                    await trio.sleep(0.01)
            async with open_link(paths.companion_sockets(home)[0]) as link:
                rates: dict[str, list[float]] = {name: [] for name in BODIES}
                for _ in range(rounds):
                    for name, size_bytes in BODIES.items():
                        chrome.set_body(size_bytes)
                        rates[name].append(await rate(link, size_bytes))
            nursery.cancel_scope.cancel()
        host.kill()
        await host.wait()
    floor = statistics.median(pipe_floor() for _ in range(rounds))
    return {
        name: {"mb_s": statistics.median(values), "floor_mb_s": floor, "ratio": statistics.median(values) / floor}
        for name, values in rates.items()
    }


async def rate(link: Any, size_bytes: int) -> float:
    """Return MB/s of body bytes with `IN_FLIGHT` calls open."""
    left = max(IN_FLIGHT, TOTAL_BYTES // 4 // size_bytes)
    calls = left

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            result = await link.call(
                "rpc",
                {"rpc": "rLM1Ne", "params": []},
                notebook=None,
                account=ACCOUNT,
                deadline_s=trio.current_time() + 60,
                traceparent=continue_or_begin_trace(None),
            )
            assert len(result.value["body"]) == size_bytes

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(IN_FLIGHT):
            nursery.start_soon(worker)
    return calls * size_bytes / 1e6 / (time.perf_counter() - started)


def pipe_floor() -> float:
    """Return MB/s of plain bytes from another process through one pipe."""
    size = TOTAL_BYTES // 4
    writer = f"import os\nb=b'x'*{READ_BYTES}\nfor _ in range({size // READ_BYTES}): os.write(1,b)"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", writer], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        fd = process.stdout.fileno()
        first = os.read(fd, READ_BYTES)
        started = time.perf_counter()
        got = len(first)
        while data := os.read(fd, READ_BYTES):
            got += len(data)
        return got / 1e6 / (time.perf_counter() - started)


def table(result: dict[str, dict[str, float]]) -> str:
    """Render the Markdown table."""
    lines = ["| body | host and link, MB/s | one plain pipe, MB/s | ratio |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {row['mb_s']:.0f} | {row['floor_mb_s']:.0f} | {row['ratio']:.2f} |" for name, row in result.items()
    ]
    return "\n".join(lines)


def run(rounds: int = 5) -> dict[str, dict[str, float]]:
    """Run the benchmark."""
    return trio.run(measure, rounds)


if __name__ == "__main__":
    print(table(run(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
