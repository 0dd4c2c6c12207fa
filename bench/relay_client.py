"""How fast the broker's link is, against a plain Trio client of the same protocol, in one run.

The plain client is what one writes first: `SocketStream`, a lock around `send_all`, an `Event` per call, one reader
task. Both clients use orjson and talk to the same echo process, which cuts frames by bytes so that it is not what is
measured. Rounds alternate between the two clients, and the median of all rounds counts.

Usage: python bench/relay_client.py [--rounds 5]
It prints one JSON document; the goal is a ratio of at least 3 with 32 calls in flight.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import trio

from broker.link import open_link
from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, FrameDecoder
from native_host.protocol import EXTENSION_ID, MAX_BROKER_FRAME_BYTES

SMALL: dict[str, object] = {"text": "x" * 40}  # with the other fields of a call, frames of about 200 bytes
LARGE_BYTES = 512 * 1024
LARGE: dict[str, object] = {"text": "x" * LARGE_BYTES}
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SEQUENTIAL_CALLS, IN_FLIGHT_CALLS, LARGE_CALLS, IN_FLIGHT = 3000, 12000, 60, 32

Echo = Callable[[dict[str, object]], Awaitable[object]]


# -- the echo process ------------------------------------------------------------------------------------------------


def serve_echoes(path: str) -> None:
    """Answer each call with its own params, one connection after another, until killed."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
        with connection:
            echo(connection)


def echo(connection: socket.socket) -> None:
    decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
    while True:
        buffer = decoder.get_buffer()
        received_bytes = connection.recv_into(buffer)
        if not received_bytes:
            return
        decoder.buffer_updated(received_bytes)
        parts = list[bytes | memoryview]()
        while (payload := decoder.maybe_next_frame()) is not None:
            parts += answer(payload)
        for start in range(0, len(parts), 256):
            send_parts(connection, parts[start : start + 256])


def answer(payload: bytes | bytearray) -> list[bytes | memoryview]:
    if not payload.startswith(b'{"type":"call","id":'):
        host = {"build": BUILD, "pid": os.getpid()}
        extension = {"build": BUILD, "id": EXTENSION_ID, "profile": "bench"}
        body = orjson.dumps({"type": "welcome", "v": 1, "host": host, "extension": extension, "account": "a@b"})
        return [BROKER_HEADER.pack(len(body)), body]
    call_id = payload[20 : payload.index(b",", 20)]
    start = payload.index(b'"params":') + 9
    value = memoryview(payload)[start : payload.rindex(b',"notebook"')]
    head = b'{"type":"result","id":%b,"ok":true,"value":' % call_id
    tail = b',"hops":{}}'
    return [BROKER_HEADER.pack(len(head) + len(value) + len(tail)), head, value, tail]


def send_parts(connection: socket.socket, parts: list[bytes | memoryview]) -> None:
    sent = connection.sendmsg(parts)
    total = sum(len(part) for part in parts)
    if sent < total:
        connection.sendall(memoryview(b"".join(parts))[sent:])


# -- the two clients -------------------------------------------------------------------------------------------------


class PlainClient:
    """`SocketStream`, `Lock`, `Event`: nothing wrong with it, and nothing tuned."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._lock = trio.Lock()
        self._last_id = 0
        self._events: dict[int, trio.Event] = {}
        self._answers: dict[int, object] = {}

    async def send(self, frame: dict[str, object]) -> None:
        payload = orjson.dumps(frame)
        async with self._lock:
            await self._stream.send_all(BROKER_HEADER.pack(len(payload)) + payload)

    async def call(self, params: dict[str, object]) -> object:
        self._last_id += 1
        call_id = self._last_id
        event = self._events[call_id] = trio.Event()
        frame: dict[str, object] = {
            "type": "call",
            "id": call_id,
            "op": "rpc",
            "params": params,
            "notebook": None,
            "account": "a@b",
            "not_after_ms": int(time.time() * 1000) + 60_000,
            "trace": {"traceparent": TRACEPARENT},
        }
        await self.send(frame)
        await event.wait()
        return self._answers.pop(call_id)

    async def read(self) -> None:
        buffer = bytearray()
        while data := await self._stream.receive_some(1 << 20):
            buffer += data
            start = 0
            while len(buffer) - start >= 4:
                (length,) = BROKER_HEADER.unpack_from(buffer, start)
                if len(buffer) - start < 4 + length:
                    break
                frame = orjson.loads(memoryview(buffer)[start + 4 : start + 4 + length])
                start += 4 + length
                if frame["type"] == "result":
                    self._answers[frame["id"]] = frame["value"]
                    self._events.pop(frame["id"]).set()
            del buffer[:start]


async def with_plain_client(path: str, use: Callable[[Echo], Awaitable[dict[str, float]]]) -> dict[str, float]:
    stream = await trio.open_unix_socket(path)
    for option in (trio.socket.SO_SNDBUF, trio.socket.SO_RCVBUF):
        stream.setsockopt(trio.socket.SOL_SOCKET, option, 1 << 20)
    client = PlainClient(stream)
    async with stream, trio.open_nursery() as nursery:
        nursery.start_soon(client.read)
        await client.send({"type": "hello"})
        figures = await use(client.call)
        nursery.cancel_scope.cancel()
    return figures


async def with_link(path: str, use: Callable[[Echo], Awaitable[dict[str, float]]]) -> dict[str, float]:
    async with open_link(Path(path)) as link:

        async def call(params: dict[str, object]) -> object:
            deadline_s = trio.current_time() + 60
            result = await link.call(
                "rpc", params, notebook=None, account="a@b", deadline_s=deadline_s, traceparent=TRACEPARENT
            )
            return result.value

        return await use(call)


# -- the measurement -------------------------------------------------------------------------------------------------


async def measure(call: Echo) -> dict[str, float]:
    for _ in range(300):
        await call(SMALL)
    figures = dict[str, float]()

    started_at = time.perf_counter()
    for _ in range(SEQUENTIAL_CALLS):
        await call(SMALL)
    figures["sequential_calls_per_s"] = SEQUENTIAL_CALLS / (time.perf_counter() - started_at)

    left = IN_FLIGHT_CALLS

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await call(SMALL)

    started_at = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(IN_FLIGHT):
            nursery.start_soon(worker)
    figures["in_flight_32_calls_per_s"] = IN_FLIGHT_CALLS / (time.perf_counter() - started_at)

    started_at = time.perf_counter()
    for _ in range(LARGE_CALLS):
        assert await call(LARGE) == LARGE
    figures["echo_512_kib_mb_per_s"] = LARGE_CALLS * LARGE_BYTES / 1e6 / (time.perf_counter() - started_at)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", metavar="SOCKET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_echoes(options.serve)
        return
    print(json.dumps(run(options.rounds), indent=2))


def run(repeats: int = 5) -> dict[str, Any]:
    """Alternate the two clients on one echo process; returns medians and ratios."""
    rounds: dict[str, list[dict[str, float]]] = {"link": [], "plain": []}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "echo.sock")
        command = [sys.executable, __file__, "--serve", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
            assert host.stdout is not None
            host.stdout.readline()
            try:
                for _ in range(repeats):
                    rounds["plain"].append(trio.run(with_plain_client, path, measure))
                    rounds["link"].append(trio.run(with_link, path, measure))
            finally:
                host.kill()
    return report(rounds)


def report(rounds: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    names = rounds["link"][0].keys()
    medians = {
        client: {name: round(statistics.median(figures[name] for figures in all_figures)) for name in names}
        for client, all_figures in rounds.items()
    }
    ratios = {
        name: round(
            statistics.median(a[name] / b[name] for a, b in zip(rounds["link"], rounds["plain"], strict=True)), 2
        )
        for name in names
    }
    return {"rounds": len(rounds["link"]), **medians, "link_to_plain": ratios}


def table(result: dict[str, Any]) -> str:
    """Render the Markdown table."""
    lines = ["| measure | plain client | our link | ratio |", "|---|---|---|---|"]
    lines += [
        f"| {name.replace('_', ' ')} | {result['plain'][name]} | {result['link'][name]} | {ratio:.2f} |"
        for name, ratio in result["link_to_plain"].items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
