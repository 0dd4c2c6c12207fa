"""Stand-ins for the host's two neighbours, so that the real host can be run without a browser.

`FakeChrome` starts the real program under ``python -I -S`` with pipes in place of Chrome and plays the worker; its
reading side follows Chrome's own rules (1 MiB, native byte order, fragments). `FakeBroker` is one connection to the
socket. Both block, with a deadline on every wait.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from native_host.build import BUILD
from native_host.framing import BROKER_HEADER, CHROME_HEADER, FrameDecoder, encode_frame
from native_host.paths import companion_socket, host_log_file
from native_host.protocol import EXTENSION_ID, MAX_BROKER_FRAME_BYTES, MAX_TO_CHROME_BYTES

WAIT_S = 10.0
ORIGIN = f"chrome-extension://{EXTENSION_ID}/"
MAIN_FILE = Path(__file__).parents[2] / "native_host" / "__main__.py"
HOST_COMMAND = (sys.executable, "-I", "-S", str(MAIN_FILE))

Frame = dict[str, Any]

HELLO: Frame = {
    "type": "hello",
    "v_min": 1,
    "v_max": 1,
    "build": BUILD,
    "client": {"name": "test", "version": "1"},
    "pid": 1,
}
READY: Frame = {
    "conn": 0,
    "type": "ready",
    "v_min": 1,
    "v_max": 1,
    "build": BUILD,
    "extension_id": EXTENSION_ID,
    "profile": "profile-1",
    "account": "ada@example.com",
}


def call_frame(call_id: int, op: str = "rpc", **fields: object) -> Frame:
    """Return a call as a broker writes it."""
    frame: Frame = {
        "type": "call",
        "id": call_id,
        "op": op,
        "params": {},
        "notebook": None,
        "account": "ada@example.com",
        "not_after_ms": 1_900_000_000_000,
        "trace": {},
    }
    return {**frame, **fields}


def dump(frame: Frame) -> bytes:
    """Encode as the worker does: compact, UTF-8."""
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()


def wait_for(is_there: Callable[[], bool], what: str, wait_s: float = WAIT_S) -> None:
    """Look again until it is there; for facts that no descriptor announces, such as a file."""
    deadline_s = time.monotonic() + wait_s
    while not is_there():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"no {what} after {wait_s} s")
        time.sleep(0.005)


class FakeBroker:
    """One connection of a broker."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(os.fsencode(path))
        self._decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)

    def send(self, frame: Frame) -> None:
        self.send_payload(json.dumps(frame).encode())

    def send_payload(self, payload: bytes) -> None:
        self.socket.sendall(encode_frame(BROKER_HEADER, payload, MAX_BROKER_FRAME_BYTES))

    def receive(self) -> Frame | None:
        """Return the next frame, or None at the end of the connection."""
        while (payload := self._decoder.maybe_next_frame()) is None:
            try:
                data = self.socket.recv(1 << 18)
            except ConnectionResetError:
                data = b""
            if not data:
                assert self._decoder.is_at_boundary, "the host cut a frame"
                return None
            self._decoder.feed_untrusted(data)
        return json.loads(payload)

    def receive_type(self, kind: str) -> Frame:
        """Return the next frame and insist on its type."""
        frame = self.receive()
        assert frame is not None
        assert frame["type"] == kind, frame
        return frame

    def hello(self) -> Frame:
        """Shake hands and return the welcome."""
        self.send(HELLO)
        return self.receive_type("welcome")

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class FakeChrome:
    """The real host as a child, and this test as its browser."""

    def __init__(
        self,
        home: Path,
        *,
        command: Sequence[str] = HOST_COMMAND,
        arguments: Sequence[str] | None = None,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.home = home
        self.arguments = ["--home", str(home), ORIGIN] if arguments is None else list(arguments)
        self.process = subprocess.Popen(
            [*command, *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            bufsize=0,
        )
        self._decoder = FrameDecoder(CHROME_HEADER, MAX_TO_CHROME_BYTES)
        self._pieces: dict[tuple[int, int], list[bytes]] = {}
        self.largest_payload_bytes = 0

    @property
    def socket_path(self) -> Path:
        return companion_socket(self.home, self.process.pid)

    def log(self) -> str:
        path = host_log_file(self.home)
        return path.read_text() if path.exists() else ""

    def wait_until_listening(self) -> None:
        """Wait for the line that the host writes once it listens."""
        wait_for(lambda: "listening on" in self.log() or self.process.poll() is not None, "listening host")
        assert self.process.poll() is None, self.log()

    def ready(self) -> None:
        """Say what a worker says first."""
        self.send(READY)
        wait_for(lambda: "worker ready" in self.log(), "line about the ready worker")

    def connect(self) -> FakeBroker:
        return FakeBroker(self.socket_path)

    def connect_and_greet(self) -> tuple[FakeBroker, int]:
        """Return a broker after its handshake, and the number that the worker was told."""
        broker = self.connect()
        broker.hello()
        opened = self.receive_type("conn_open")
        return broker, opened["conn"]

    def send(self, frame: Frame) -> None:
        self.send_payload(dump(frame))

    def send_payload(self, payload: bytes) -> None:
        self.send_bytes(CHROME_HEADER.pack(len(payload)) + payload)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            written = self.process.stdin.write(view)
            assert written is not None
            view = view[written:]

    def receive_raw(self) -> Frame | None:
        """Return the next message as Chrome would take it, or None at the end of the port."""
        assert self.process.stdout is not None
        while (payload := self._decoder.maybe_next_frame()) is None:
            data = self.process.stdout.read(1 << 18)
            if not data:
                assert self._decoder.is_at_boundary, "the host cut a frame"
                return None
            self._decoder.feed_untrusted(data)
        self.largest_payload_bytes = max(self.largest_payload_bytes, len(payload))
        return json.loads(payload)

    def receive(self) -> Frame | None:
        """Return the next message as the worker sees it: fragments joined."""
        while (frame := self.receive_raw()) is not None:
            if frame["type"] != "fragment":
                return frame
            key = (frame["conn"], frame["id"])
            pieces = self._pieces.setdefault(key, [])
            assert frame["seq"] == len(pieces)
            pieces.append(base64.b64decode(frame["data"], validate=True))
            if frame["last"]:
                return json.loads(b"".join(self._pieces.pop(key)))
        return None

    def receive_type(self, kind: str) -> Frame:
        """Return the next message and insist on its type."""
        frame = self.receive()
        assert frame is not None, self.log()
        assert frame["type"] == kind, frame
        return frame

    def close_port(self) -> int:
        """End the port as Chrome does, and return the exit code; the host has 2 s."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(2)

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
