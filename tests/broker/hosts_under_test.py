"""One face for two hosts, so that the same tests run against both: the fake one, and the real program.

`RealHost` starts the native host under ``python -I -S`` and plays Chrome and the worker on its standard streams;
`FakeSide` wraps `broker.fake_host`. What a test may do is in `HostSide`.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any, Protocol

import orjson
import trio

from broker.fake_host import FakeCall, FakeHost, Script, answer_with_the_call, open_fake_host
from native_host.build import BUILD
from native_host.framing import CHROME_HEADER, FrameDecoder, encode_frame
from native_host.paths import companion_socket, ensure_private_folder, run_folder
from native_host.protocol import EXTENSION_ID, MAX_FROM_CHROME_BYTES, MAX_TO_CHROME_BYTES, V_MAX, V_MIN

MAIN_FILE = Path(__file__).parents[2] / "native_host" / "__main__.py"
ACCOUNT = "ada@example.com"
Frame = dict[str, Any]


class HostSide(Protocol):
    """What a test does on the far side of the socket."""

    socket_path: Path

    @property
    def script(self) -> Script: ...

    @script.setter
    def script(self, script: Script) -> None: ...

    @property
    def calls(self) -> list[FakeCall]:
        """Every call that arrived, in order."""
        ...

    async def wait_calls(self, count: int) -> None:
        """Wait until so many calls have arrived."""
        ...

    async def say_ready(self, account: str | None) -> None:
        """Be a worker that reports, or reports again, with this account."""
        ...

    async def send_event(self, name: str) -> None:
        """Tell all brokers that something happened in the browser."""
        ...

    async def leave(self) -> None:
        """End as a browser does that closes the port."""
        ...


class FakeSide:
    """The fake host, seen as a `HostSide`."""

    def __init__(self, host: FakeHost, socket_path: Path) -> None:
        self._host = host
        self.socket_path = socket_path

    @property
    def script(self) -> Script:
        return self._host.script

    @script.setter
    def script(self, script: Script) -> None:
        self._host.script = script

    @property
    def calls(self) -> list[FakeCall]:
        return self._host.calls

    async def wait_calls(self, count: int) -> None:
        await self._host.wait_received("call", count)

    async def say_ready(self, account: str | None) -> None:
        self._host.has_extension, self._host.account = True, account
        await self._host.announce()

    async def send_event(self, name: str) -> None:
        for connection in self._host.connections:
            await connection.send({"type": "event", "name": name, "detail": None})

    async def leave(self) -> None:
        for connection in self._host.connections:
            await connection.hang_up()


class WorkerEnd:
    """Where the answers of one broker's calls go: with its number, keys in the order that the host routes by."""

    def __init__(self, host: RealHost, conn: int) -> None:
        self._host = host
        self._conn = conn

    async def send(self, frame: Frame) -> None:
        await self._host.write({"conn": self._conn, **frame})


class RealHost:
    """The real host as a child of this test, which is its Chrome."""

    def __init__(self, home: Path, process: trio.Process) -> None:
        self.socket_path = companion_socket(home, process.pid)
        self.script: Script = answer_with_the_call
        self.calls: list[FakeCall] = []
        self._process = process
        self._arrival = trio.Event()
        self._write_lock = trio.Lock()
        self._open: dict[tuple[int, int], FakeCall] = {}
        self._pieces: dict[tuple[int, int], bytearray] = {}

    async def write(self, frame: Frame) -> None:
        assert self._process.stdin is not None
        payload = orjson.dumps(frame)
        async with self._write_lock:
            await self._process.stdin.send_all(encode_frame(CHROME_HEADER, payload, MAX_FROM_CHROME_BYTES))

    async def say_ready(self, account: str | None) -> None:
        await self.write(
            {
                "conn": 0,
                "type": "ready",
                "v_min": V_MIN,
                "v_max": V_MAX,
                "build": BUILD,
                "extension_id": EXTENSION_ID,
                "profile": "profile-1",
                "account": account,
            }
        )

    async def send_event(self, name: str) -> None:
        await self.write({"conn": 0, "type": "event", "name": name, "detail": None})

    async def wait_calls(self, count: int) -> None:
        while len(self.calls) < count:
            await self._arrival.wait()

    async def leave(self) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.aclose()

    async def play_worker(self) -> None:
        """Run the script for each call, until the host ends."""
        assert self._process.stdout is not None
        decoder = FrameDecoder(CHROME_HEADER, MAX_TO_CHROME_BYTES)
        async with trio.open_nursery() as nursery:
            async for data in self._process.stdout:
                decoder.feed_untrusted(data)
                while (payload := decoder.maybe_next_frame()) is not None:
                    self._take(orjson.loads(payload), nursery)
            nursery.cancel_scope.cancel()

    def _take(self, frame: Frame, nursery: trio.Nursery) -> None:
        key = (frame["conn"], frame.get("id", 0))
        match frame["type"]:
            case "fragment":
                pieces = self._pieces.setdefault(key, bytearray())
                pieces += base64.b64decode(frame["data"], validate=True)
                if frame["last"]:
                    self._take(orjson.loads(self._pieces.pop(key)), nursery)
            case "call":
                end: Any = WorkerEnd(self, frame["conn"])
                call = FakeCall(frame["id"], frame["op"], frame["params"], frame["notebook"], frame, end)
                self._open[key] = call
                self.calls.append(call)
                self._arrival.set()
                self._arrival = trio.Event()
                nursery.start_soon(self._run_script, call)
            case "cancel":
                self._open[key].cancelled.set()
            case "ping":
                nursery.start_soon(self.write, {"conn": 0, "type": "pong", "t": frame["t"]})
            case _:
                pass  # conn_open, conn_close, pong, error: not what these tests are about

    async def _run_script(self, call: FakeCall) -> None:
        await self.script(call)


async def wait_listening(socket_path: Path) -> None:
    """Wait until somebody accepts there. Nothing announces that, and the file alone is there a moment too early."""
    while True:
        try:
            stream = await trio.open_unix_socket(str(socket_path))
        except OSError:
            await trio.sleep(0.01)
        else:
            await stream.aclose()
            return


@asynccontextmanager
async def open_fake_side(home: Path) -> AsyncGenerator[HostSide]:
    """Run the fake host, its worker not ready yet."""
    ensure_private_folder(run_folder(home))
    path = companion_socket(home, 1)
    async with open_fake_host(path, account=None) as host:
        host.has_extension = False
        yield FakeSide(host, path)


@asynccontextmanager
async def open_real_side(home: Path) -> AsyncGenerator[HostSide]:
    """Run the real host, its worker not ready yet; leaving ends it."""
    ensure_private_folder(run_folder(home))
    command = [sys.executable, "-I", "-S", str(MAIN_FILE), "--home", str(home), f"chrome-extension://{EXTENSION_ID}/"]
    async with trio.open_nursery() as nursery:
        process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE)
        host = RealHost(home, process)
        try:
            with trio.fail_after(20):
                await wait_listening(host.socket_path)
            nursery.start_soon(host.play_worker)
            yield host
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 10):
                await host.leave()
                await process.wait()
                assert process.returncode == 0
            nursery.cancel_scope.cancel()
