"""A child that speaks MCP over stdio, driven line by line as a client would, with a deadline on every wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

REPOSITORY = Path(__file__).resolve().parents[2]
TEST_SERVER = (sys.executable, "-m", "tests.broker.stdio_server")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class StdioPeer:
    """Talks to `process` through its pipes."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.raw_output = bytearray()
        self._pending = bytearray()

    async def send(self, *messages: Mapping[str, object]) -> None:
        """Write the messages in one write."""
        await self.send_raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send_all(data)

    async def maybe_receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at end of file."""
        assert self.process.stdout is not None
        with trio.fail_after(20):
            while b"\n" not in self._pending:
                data = await self.process.stdout.receive_some()
                if not data:
                    assert not self._pending, "the output ends inside a line"
                    return None
                self.raw_output += data
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    async def receive(self) -> dict[str, Any]:
        message = await self.maybe_receive()
        assert message is not None, "the server ended"
        return message

    async def receive_id(self, request_id: object) -> dict[str, Any]:
        """Return the answer to `request_id`, ignoring what comes before it."""
        while True:
            message = await self.receive()
            if "id" in message and message["id"] == request_id and type(message["id"]) is type(request_id):
                return message

    async def request(self, method: str, params: Mapping[str, object] | None = None, request_id: object = 1) -> Any:
        message: dict[str, object] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        await self.send(message)
        return await self.receive_id(request_id)

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None, request_id: object = 1) -> Any:
        return await self.request("tools/call", {"name": tool, "arguments": arguments or {}}, request_id)

    async def initialize(self) -> dict[str, Any]:
        await self.send(INITIALIZE, INITIALIZED)
        return await self.receive_id("init")

    async def close_input(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def rest(self) -> list[dict[str, Any]]:
        """Return every message until end of file."""
        messages: list[dict[str, Any]] = []
        while (message := await self.maybe_receive()) is not None:
            messages.append(message)
        return messages

    async def exit_status(self, within_s: float = 5.0) -> int:
        with trio.fail_after(within_s):
            return await self.process.wait()


@asynccontextmanager
async def stdio_peer(
    command: Sequence[str] = TEST_SERVER,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stderr: Any = None,
) -> AsyncIterator[StdioPeer]:
    """Start `command` and kill it at the end, whatever happened."""
    env = {**os.environ, **(environ or {}), "PYTHONPATH": str(REPOSITORY)}
    process = await trio.lowlevel.open_process(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd or REPOSITORY
    )
    try:
        yield StdioPeer(process)
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True), trio.move_on_after(5):
            await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                await trio.aclose_forcefully(stream)
