"""A broker with no manners: it sends whatever frame a test wants, as a talked-into or patched broker could.

Speaks the broker leg of the host's socket with the standard library's JSON, so that nothing of our own client's checks
stands between a forged frame and the extension.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio

HEADER = struct.Struct(">I")
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class RawBroker:
    """One connection. `call` returns the result frame; chunks that came before it are in `chunks[id]`."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.buffer = bytearray()
        self.next_id = 0
        self.chunks: dict[int, list[str]] = {}
        self.welcome: dict[str, Any] = {}

    async def send(self, frame: dict[str, Any]) -> None:
        """Write one frame."""
        payload = json.dumps(frame).encode()
        await self.stream.send_all(HEADER.pack(len(payload)) + payload)

    async def receive(self) -> dict[str, Any]:
        """Return the next frame that is not a heartbeat; raises EOFError when the host closed."""
        while True:
            if len(self.buffer) >= HEADER.size:
                (length,) = HEADER.unpack_from(self.buffer)
                if len(self.buffer) >= HEADER.size + length:
                    frame = json.loads(self.buffer[HEADER.size : HEADER.size + length])
                    del self.buffer[: HEADER.size + length]
                    if frame["type"] == "ping":
                        await self.send({"type": "pong", "t": frame["t"]})
                        continue
                    return frame
            data = await self.stream.receive_some(1 << 18)
            if not data:
                raise EOFError
            self.buffer += data

    async def hello(self, **changes: Any) -> dict[str, Any]:
        """Introduce ourselves; returns the answer."""
        frame = {
            "type": "hello",
            "v_min": 1,
            "v_max": 1,
            "build": "test",
            "client": {"name": "raw-broker", "version": "0"},
            "pid": os.getpid(),
        }
        await self.send(frame | changes)
        self.welcome = await self.receive()
        return self.welcome

    def call_frame(self, op: str, params: Any, **changes: Any) -> dict[str, Any]:
        """Build a well-formed call; `changes` overwrite any field."""
        self.next_id += 1
        frame = {
            "type": "call",
            "id": self.next_id,
            "op": op,
            "params": params,
            "notebook": None,
            "account": "ada@example.com",
            "not_after_ms": int(time.time() * 1e3) + 20_000,
            "trace": {"traceparent": TRACEPARENT},
        }
        return frame | changes

    async def call(self, op: str, params: Any, **changes: Any) -> dict[str, Any]:
        """Send one call and wait for its result, at most 20 s."""
        frame = self.call_frame(op, params, **changes)
        await self.send(frame)
        return await self.result_of(frame["id"])

    async def result_of(self, call_id: int) -> dict[str, Any]:
        """Wait for the result of a call, at most 20 s; its chunks are collected on the way."""
        with trio.fail_after(20):
            while True:
                got = await self.receive()
                if got["type"] == "chunk":
                    self.chunks.setdefault(got["id"], []).append(got["data"])
                elif got["type"] == "result" and got["id"] == call_id:
                    return got


@asynccontextmanager
async def open_raw_broker(path: str, *, greet: bool = True) -> AsyncGenerator[RawBroker, None]:
    """Connect to a companion's socket and, unless told otherwise, say hello."""
    async with await trio.open_unix_socket(path) as stream:
        broker = RawBroker(stream)
        if greet:
            with trio.fail_after(10):
                await broker.hello()
        yield broker
