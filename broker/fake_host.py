"""A small stand-in for the native host and the extension behind it: the broker leg in process, with scripted answers.

For tests of the broker and for trying tools without a browser. It speaks the frames of ``protocol.md`` and is held to
the same conformance tests as the real host (``tests/broker/test_link_conformance.py``). It has no policy: what the
extension would refuse, a script refuses.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import trio
from attrs import define, field

from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, BadFrame, FrameDecoder, encode_frame
from native_host.messages import BadMessage, checked_fields, message_type, parse_untrusted
from native_host.protocol import BROKER_TO_HOST, EXTENSION_ID, MAX_BROKER_FRAME_BYTES, V_MAX, agree_version

Script = Callable[["FakeCall"], Awaitable[None]]


@define(eq=False)
class FakeCall:
    """One call frame, and the ways to answer it. A script that returns without an answer leaves the call open."""

    id: int
    op: str
    params: dict[str, Any]
    notebook: str | None
    frame: dict[str, Any] = field(repr=False)
    connection: FakeConnection = field(repr=False)
    cancelled: trio.Event = field(factory=trio.Event, repr=False)
    _next_seq: int = 0

    async def succeed(self, value: object, **hops: float) -> None:
        """Send the result, for example ``await call.succeed({"status": 200, "body": ""}, worker_ms=2.0)``."""
        await self.connection.send({"type": "result", "id": self.id, "ok": True, "value": value, "hops": hops})

    async def succeed_empty(self) -> None:
        """Send a result without content; fits as a script."""
        await self.succeed({})

    async def fail(self, code: str, message: str, *, started: bool, detail: dict[str, object] | None = None) -> None:
        """Send a failed result."""
        error = {"code": code, "message": message, "detail": detail or {}, "started": started}
        await self.connection.send({"type": "result", "id": self.id, "ok": False, "error": error, "hops": {}})

    async def chunk(self, text: str) -> None:
        """Send the next piece of a stream."""
        await self.connection.send({"type": "chunk", "id": self.id, "seq": self._next_seq, "data": text})
        self._next_seq += 1


class FakeConnection:
    """One broker's connection, from the host's side."""

    def __init__(self, host: FakeHost, stream: trio.SocketStream) -> None:
        self._host = host
        self.stream = stream
        self._send_lock = trio.Lock()
        self.calls: dict[int, FakeCall] = {}
        self.received: list[dict[str, Any]] = []
        """Every frame of this connection in order of arrival, `hello` included."""
        self.ended = trio.Event()

    async def send(self, frame: dict[str, Any]) -> None:
        await self.send_bytes(encode_frame(BROKER_HEADER, orjson.dumps(frame), MAX_BROKER_FRAME_BYTES))

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are: for frames that no host would send."""
        async with self._send_lock:
            await self.stream.send_all(data)

    async def hang_up(self) -> None:
        """End the connection, as a host that leaves does."""
        await self.stream.aclose()

    async def serve(self) -> None:
        """Answer frames until the broker leaves or breaks the protocol."""
        decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
        async with trio.open_nursery() as nursery:
            try:
                while data := await self.stream.receive_some():
                    decoder.feed_untrusted(data)
                    while (payload := decoder.maybe_next_frame()) is not None:
                        await self._take_untrusted(payload, nursery)
                    await self._host.may_read.wait()
            except (BadFrame, BadMessage) as error:
                await self.send({"type": "error", "code": "INVALID_ARGUMENT", "message": str(error)})
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # the broker, or the test, closed it
            nursery.cancel_scope.cancel()
        await self.stream.aclose()
        self.ended.set()

    async def _take_untrusted(self, payload: bytes | bytearray, nursery: trio.Nursery) -> None:
        message = parse_untrusted(payload)
        kind = message_type(message, BROKER_TO_HOST)
        frame: dict[str, Any] = {"type": kind, **checked_fields(kind, message)}
        self.received.append(frame)
        if kind == "hello":
            await self._greet(frame)
        elif kind == "ping" and self._host.answers_pings:
            await self.send({"type": "pong", "t": frame["t"], "worker_last_seen_ms": 0})
        elif kind == "call":
            call = FakeCall(frame["id"], frame["op"], frame["params"], frame["notebook"], frame, self)
            self.calls[call.id] = call
            self._host.calls.append(call)
            nursery.start_soon(self._run_script, call)
        elif kind == "cancel" and frame["id"] in self.calls:
            self.calls[frame["id"]].cancelled.set()
        self._host.note_arrival()

    async def _run_script(self, call: FakeCall) -> None:
        # The broker may leave before the answer; then nobody waits for it.
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._host.script(call)

    async def _greet(self, hello: dict[str, Any]) -> None:
        if agree_version(hello["v_min"], hello["v_max"]) is None:
            text = f"host {BUILD} and broker {hello['build']} share no version; run `pip install -U notebook-gateway`"
            await self.send({"type": "error", "code": "VERSION_SKEW", "message": text})
            await self.stream.aclose()
        else:
            await self.send(self._host.welcome())
            for frame in self._host.greets_with:
                await self.send(frame)


async def answer_with_the_call(call: FakeCall) -> None:
    """The default script: an `rpc` gets its own params back as the body; other ops get an empty object."""
    if call.op == "rpc":
        body = orjson.dumps(call.params["params"]).decode()
        await call.succeed({"status": 200, "body": body, "retry_after_s": None}, worker_ms=0)
    else:
        await call.succeed({})


class FakeHost:
    """What all connections share. Change the attributes at any time; `announce` tells the connected brokers."""

    def __init__(self, account: str | None, script: Script, profile: str = "profile-1") -> None:
        self.account = account
        self.script = script
        self.profile = profile
        self.build = BUILD
        """Of host and extension; another one than ours plays a version skew that the protocol bridges."""
        self.has_extension = True
        self.answers_pings = True
        self.greets_with: list[dict[str, Any]] = []
        """Frames to send right behind the first welcome."""
        self.may_read = trio.Event()
        """Replace it by a fresh event to make the host stop reading; set that to go on."""
        self.may_read.set()
        self.connections: list[FakeConnection] = []
        self.calls: list[FakeCall] = []
        self._arrival = trio.Event()

    def welcome(self) -> dict[str, Any]:
        extension = {"build": self.build, "id": EXTENSION_ID, "profile": self.profile} if self.has_extension else None
        host = {"build": self.build, "pid": os.getpid()}
        return {"type": "welcome", "v": V_MAX, "host": host, "extension": extension, "account": self.account}

    async def announce(self) -> None:
        """Send the welcome again to everybody, as after a `ready` with other content."""
        for connection in self.connections:
            await connection.send(self.welcome())

    def note_arrival(self) -> None:
        self._arrival.set()
        self._arrival = trio.Event()

    async def wait_received(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until `count` frames of that type have come, on all connections together, and return them."""
        while len(frames := self.received(kind)) < count:
            await self._arrival.wait()
        return frames

    def received(self, kind: str) -> list[dict[str, Any]]:
        return [f for connection in self.connections for f in connection.received if f["type"] == kind]

    async def serve_connection(self, stream: trio.SocketStream) -> None:
        connection = FakeConnection(self, stream)
        self.connections.append(connection)
        await connection.serve()


@asynccontextmanager
async def open_fake_host(
    socket_path: Path,
    *,
    account: str | None = "ada@example.com",
    script: Script = answer_with_the_call,
    profile: str = "profile-1",
    greets_with: Sequence[dict[str, Any]] = (),
) -> AsyncGenerator[FakeHost]:
    """Listen at `socket_path` for the length of the context; leaving it ends all connections and removes the socket."""
    host = FakeHost(account, script, profile)
    host.greets_with += greets_with
    # Bound without Trio, which would use a thread for it: a clock that jumps when all tasks are blocked jumps then too.
    plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    plain.bind(os.fspath(socket_path))
    sock = trio.socket.from_stdlib_socket(plain)
    sock.listen(16)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, host.serve_connection, [trio.SocketListener(sock)])
            yield host
            nursery.cancel_scope.cancel()
    finally:
        socket_path.unlink(missing_ok=True)  # noqa: ASYNC240  # one unlink, and this may be a cancelled scope
