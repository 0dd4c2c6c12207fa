"""A small MCP client over stdio, on Trio: what an agent's client does, and nothing it would hide.

    async with open_client(SERVE_COMMAND, env=chain.env) as client:
        await client.initialize()
        outcome = await client.call_tool("list_notebooks", {})

One task reads and hands each answer to whoever waits for it. The caller owns deadlines. Leaving the context closes the
server's input, as a client does, and waits for its end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import trio
from attrs import define, field

LEGACY_VERSION: Final = "2025-06-18"
SERVE_COMMAND: Final = (sys.executable, "-P", "-m", "notebook_gateway", "serve")
"""`-P` because the working folder is anybody's: a file there named like one of our imports must not be run."""
CLIENT_INFO: Final = {"name": "notebook-gateway-harness", "version": "1"}
END_TIMEOUT_S: Final = 4.0
"""A server has two seconds to end after its input closed; one that needs more is killed, and `exit_code` tells."""
KEPT_STDERR_LINES: Final = 200
_READ_BYTES: Final = 65536

JsonObject = dict[str, Any]
OnProgress = Callable[[JsonObject], None]


class ServerGone(Exception):
    """The server closed its output while an answer was awaited."""


class RpcError(Exception):
    """A JSON-RPC error answer: a protocol error, not a tool's failure envelope."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.error = error


@define(eq=False)
class _Waiting:
    done: trio.Event = field(factory=trio.Event)
    answer: JsonObject | None = None


class McpClient:
    """One server process. Made by `open_client`."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.received: list[JsonObject] = []
        """Every message the server sent, in order; tests look here for what must not be there."""
        self.stderr_lines: deque[str] = deque(maxlen=KEPT_STDERR_LINES)
        self.greeted = trio.Event()
        """Set once `initialize` has been answered."""
        self._next_id = 0
        self._waiting: dict[int | str, _Waiting] = {}
        self._on_progress: dict[int | str, OnProgress] = {}
        self._write = trio.Lock()
        self._arrived = trio.Condition()
        self.is_gone = False

    def __repr__(self) -> str:
        return f"<McpClient pid {self.process.pid}, {len(self._waiting)} waiting>"

    async def initialize(self, version: str = LEGACY_VERSION) -> JsonObject:
        """Shake hands as a client of the handshake era does; returns the server's answer."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO}
        result = await self.request("initialize", params)
        await self.notify("notifications/initialized")
        self.greeted.set()
        return result

    async def call_tool(
        self,
        name: str,
        arguments: object,
        *,
        meta: Mapping[str, object] | None = None,
        on_progress: OnProgress | None = None,
    ) -> JsonObject:
        """Call a tool; returns the whole MCP result (`structuredContent`, `isError`, `content` …)."""
        params: JsonObject = {"name": name, "arguments": arguments}
        if meta is not None:
            params["_meta"] = dict(meta)
        return await self.request("tools/call", params, on_progress=on_progress)

    async def request(self, method: str, params: object = None, *, on_progress: OnProgress | None = None) -> JsonObject:
        """Send a request and wait for its answer; a caller that is cancelled sends `notifications/cancelled`.

        Raises:
            RpcError: the answer is a JSON-RPC error.
            ServerGone: the server closed its output first.
        """
        self._next_id += 1
        request_id = self._next_id
        message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if on_progress is not None:
            self._on_progress[request_id] = on_progress
            asked: JsonObject = cast("JsonObject", params or {})
            params = {**asked, "_meta": {**asked.get("_meta", {}), "progressToken": request_id}}
        if params is not None:
            message["params"] = params
        waiting = self._waiting[request_id] = _Waiting()
        try:
            await self._send(message)
            await waiting.done.wait()
        except trio.Cancelled:
            # A server that is gone has nothing left to cancel, and the cancellation must not turn into another error.
            with trio.move_on_after(1, shield=True), suppress(ServerGone):
                await self.notify("notifications/cancelled", {"requestId": request_id})
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._on_progress.pop(request_id, None)
        if waiting.answer is None:
            raise ServerGone("the server closed its output before it answered")
        if "error" in waiting.answer:
            raise RpcError(waiting.answer["error"])
        result: JsonObject = waiting.answer["result"]
        return result

    async def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        await self._send(message if params is None else message | {"params": params})

    async def send_raw(self, data: bytes) -> None:
        """Write bytes as they are, for tests of malformed input."""
        assert self.process.stdin is not None
        async with self._write:
            await self.process.stdin.send_all(data)

    async def wait_for(self, matches: Callable[[JsonObject], bool]) -> JsonObject:
        """Return the first message that matches, already received or still to come; the caller owns the deadline.

        Raises:
            ServerGone: the server closed its output and no message matched.
        """
        seen = 0
        while True:
            for message in self.received[seen:]:
                if matches(message):
                    return message
            seen = len(self.received)
            async with self._arrived:
                if len(self.received) == seen:
                    if self.is_gone:
                        raise ServerGone("the server closed its output")
                    await self._arrived.wait()

    async def close(self) -> int:
        """Close the server's input, wait for its end, and return its exit code (minus the signal that killed it)."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with trio.move_on_after(END_TIMEOUT_S):
            return await self.process.wait()
        self.process.kill()
        return await self.process.wait()

    async def _send(self, message: JsonObject) -> None:
        try:
            await self.send_raw(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise ServerGone("the server closed its input") from error

    async def read_answers(self) -> None:
        """Read until the server closes its output; whoever still waits then learns that it is gone."""
        assert self.process.stdout is not None
        buffer = bytearray()
        while data := await self.process.stdout.receive_some(_READ_BYTES):
            buffer += data
            *lines, rest = buffer.split(b"\n")
            buffer = bytearray(rest)
            for line in lines:
                self._take(json.loads(line))
            async with self._arrived:
                self._arrived.notify_all()
        self.is_gone = True
        for waiting in self._waiting.values():
            waiting.done.set()
        async with self._arrived:
            self._arrived.notify_all()

    async def read_stderr(self) -> None:
        """Keep the last lines of what the server says to people, and show them."""
        assert self.process.stderr is not None
        rest = b""
        while data := await self.process.stderr.receive_some(_READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                self.stderr_lines.append(text)
                print(text, file=sys.stderr)

    def _take(self, message: JsonObject) -> None:
        self.received.append(message)
        if message.get("method") == "notifications/progress":
            on_progress = self._on_progress.get(message["params"]["progressToken"])
            if on_progress is not None:
                on_progress(message["params"])
            return
        waiting = self._waiting.get(message.get("id", ""))
        if waiting is not None and "method" not in message:
            waiting.answer = message
            waiting.done.set()


@asynccontextmanager
async def open_client(
    command: Sequence[str], *, env: Mapping[str, str], cwd: str | os.PathLike[str] | None = None
) -> AsyncGenerator[McpClient]:
    """Start a server the way MCP clients do: three pipes, a short environment, and `env` on top of it."""
    short = {key: os.environ[key] for key in ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER") if key in os.environ}
    process = await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**short, **env},
        cwd=cwd,
    )
    client = McpClient(process)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.read_answers)
        nursery.start_soon(client.read_stderr)
        try:
            yield client
        finally:
            with trio.CancelScope(shield=True):
                await client.close()
            nursery.cancel_scope.cancel()
