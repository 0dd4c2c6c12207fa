"""An MCP client that speaks raw lines, with a deadline on every wait: to a child process or to a server in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from mcp.server.lowlevel import Server

from broker.stdio_transport import MAX_LINE_BYTES, StdioTransport
from broker.stdio_wire import StdioWire

REPOSITORY = Path(__file__).resolve().parents[2]
TEST_SERVER = (sys.executable, "-m", "tests.broker.stdio_server")

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""The `_meta` of a stateless request."""


class Peer:
    """The client's side of one pipe pair. Answers that come out of turn are an error of the test."""

    def __init__(
        self, write: Callable[[bytes], Awaitable[None]], read: Callable[[], Awaitable[bytes | bytearray]]
    ) -> None:
        self._write = write
        self._read = read
        self._pending = bytearray()
        self.raw_output = bytearray()
        self.notes: list[dict[str, Any]] = []
        """Notifications that came while an answer was awaited."""

    async def send(self, *messages: Mapping[str, object]) -> None:
        """Write the messages in one write."""
        lines = (json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)
        await self.send_raw(b"".join(lines))

    async def send_raw(self, data: bytes) -> None:
        await self._write(data)

    async def maybe_receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at end of file."""
        with trio.fail_after(20):
            while b"\n" not in self._pending:
                data = await self._read()
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
        """Return the answer to `request_id`, of the same JSON type; notifications before it are kept in `notes`."""
        while "id" not in (message := await self.receive()):
            self.notes.append(message)
        assert (type(message["id"]), message["id"]) == (type(request_id), request_id)
        return message

    async def request(self, method: str, params: Mapping[str, object] | None = None, request_id: object = 1) -> Any:
        message: dict[str, object] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        await self.send(message)
        return await self.receive_id(request_id)

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None, **params: object) -> Any:
        """Return the answer to a tool call; `params` stand beside the arguments, as `_meta` does."""
        called = {"name": tool, **({} if arguments is None else {"arguments": arguments}), **params}
        return await self.request("tools/call", called)

    async def initialize(self) -> dict[str, Any]:
        await self.send(INITIALIZE, INITIALIZED)
        return (await self.receive_id("init"))["result"]

    async def rest(self) -> list[dict[str, Any]]:
        """Return every message until end of file."""
        messages: list[dict[str, Any]] = []
        while (message := await self.maybe_receive()) is not None:
            messages.append(message)
        return messages


class ChildPeer(Peer):
    """A peer whose server is a child process."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(process.stdin.send_all, process.stdout.receive_some)
        self.process = process

    async def close_input(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def exit_status(self, within_s: float = 5.0) -> int:
        with trio.fail_after(within_s):
            return await self.process.wait()


@asynccontextmanager
async def child_peer(
    command: Sequence[str] = TEST_SERVER,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stderr: Any = None,
) -> AsyncGenerator[ChildPeer]:
    """Start `command` and kill it at the end, whatever happened."""
    env = {**os.environ, **(environ or {})}
    process = await trio.lowlevel.open_process(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd or REPOSITORY
    )
    try:
        yield ChildPeer(process)
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True), trio.move_on_after(5):
            await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                await trio.aclose_forcefully(stream)


@asynccontextmanager
async def pipe_peer(server: Server[Any], *, max_line_bytes: int = MAX_LINE_BYTES) -> AsyncGenerator[Peer]:
    """Serve `server` over two real pipes in this process, for as long as the context lasts."""
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    stop = trio.Event()
    transport = StdioTransport(
        server, StdioWire(their_input, their_output), max_line_bytes=max_line_bytes, drain_s=0.0, settle_s=0.5
    )
    output = trio.lowlevel.FdStream(our_output)
    reader = StdioWire(our_input, our_output)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.serve, stop)
            yield Peer(output.send_all, reader.receive_some)
            stop.set()
    finally:
        await trio.aclose_forcefully(output)
        for descriptor in (their_input, our_input, their_output):
            os.close(descriptor)
