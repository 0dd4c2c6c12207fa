"""One connection to one companion: a native host, and the extension behind it.

`async with open_link(path) as link` connects, says hello and waits for the welcome. One reader task dispatches frames,
one writer task finishes what the socket did not take at once, one alarm ends calls at their deadlines, one heart beats.
All four belong to the nursery that `open_link` opens, and none raises: whatever goes wrong takes the link *down*, which
settles every open call at once and exactly once, and a link that is down stays down.

Speed (``bench/relay_client.py``): a call is one attempt to send before anything is awaited (or, while several are open,
a place among frames that leave together), and one wait from which the reader reschedules the calling task directly.
There is no lock, event or cancel scope per call.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio
from attrs import frozen

from broker.background import open_background_nursery
from broker.errors import CompanionOffline
from broker.exchange import Exchange
from broker.frame_reader import read_payloads
from broker.frame_writer import FrameWriter
from broker.link_down import LinkDown, maybe_skew, socket_failed
from broker.link_stream import LinkStream
from broker.parking import park
from broker.relay_frames import (
    BadHostFrame,
    Chunk,
    Event,
    HostFrame,
    Ping,
    Pong,
    ProtocolError,
    Result,
    Welcome,
    encode_hello,
    encode_ping,
    encode_pong,
    encode_protocol_error,
    parse_host_frame_untrusted,
)
from native_host.framing import BadFrame
from native_host.heartbeat import Heartbeat
from native_host.protocol import HEARTBEAT_MISSES, HEARTBEAT_S

HANDSHAKE_TIMEOUT_S: Final = 2.0
"""A host answers hello from memory; one that does not within this time hangs."""
SOCKET_BUFFER_BYTES: Final = 1024 * 1024
"""Asked of the kernel, which may give less: a 512 KiB frame then moves in few steps."""
_LEG: Final = 1
"""This link's only number in its heartbeat."""


@frozen
class ClientName:
    """The program that runs this broker, as it introduced itself over MCP; the host shows it in its log."""

    name: str = "unknown"
    version: str = ""


UNNAMED: Final = ClientName()


class Link:
    """Made by `open_link`. The methods may be used by any number of tasks at once."""

    # Invariant: the socket is closed exactly when the exchange is down.

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._writer = FrameWriter(sock)
        self._exchange = Exchange(self._writer, self._close)
        self._tasks = trio.CancelScope()
        self._changed = trio.Event()
        self._was_heard = False
        self.welcome: Welcome | None = None
        """The latest greeting; never None once `open_link` has been entered."""
        self.on_event: Callable[[Event], None] | None = None
        """Called with each event while set; it must not block or raise."""
        self._handlers: dict[type[HostFrame], Callable[[Any], None]] = {
            Result: self._exchange.take_result,
            Chunk: self._exchange.take_chunk,
            Welcome: self._on_welcome,
            Ping: self._on_ping,
            Pong: self._on_pong,
            Event: self._on_host_event,
            ProtocolError: self._on_protocol_error,
        }

    def __repr__(self) -> str:
        return f"<Link {self._exchange} {self.welcome}>"

    @property
    def down(self) -> LinkDown | None:
        """Why the link is down, or None while it is up."""
        return self._exchange.down

    async def wait_changed(self) -> None:
        """Wait until the next welcome, or the end of the link. Look first, and again afterwards, in a loop."""
        await self._changed.wait()

    async def call(
        self,
        op: str,
        params: dict[str, object],
        *,
        notebook: str | None,
        account: str,
        deadline_s: float,
        traceparent: str,
    ) -> Result:
        """Make one call and return its result, whose `error` is None; `relay_ms` is added to its hops.

        Cancelling tells the worker and forgets the call. There is one outcome per call, and no call is repeated here.

        Raises: GatewayError as the worker reports it; DeadlineExceeded; CompanionOffline when the link goes down;
            RateLimited with too many open calls; InvalidArgument when `params` cannot be sent. `started` is False
            only when the frame provably never left, or when the worker says so.
        """
        call = self._exchange.start(
            op, params, notebook=notebook, account=account, deadline_s=deadline_s, traceparent=traceparent
        )
        try:
            while call.outcome is None:
                await park(call)
        except BaseException:
            self._exchange.forget(call)
            raise
        return call.result()

    @asynccontextmanager
    async def stream(
        self, params: dict[str, object], *, notebook: str, account: str, deadline_s: float, traceparent: str
    ) -> AsyncGenerator[LinkStream]:
        """Open one answer stream; leaving the context before its end cancels it. Raises as `call` does."""
        call = self._exchange.start(
            "stream",
            params,
            notebook=notebook,
            account=account,
            deadline_s=deadline_s,
            traceparent=traceparent,
            is_stream=True,
        )
        try:
            yield LinkStream(call)
        finally:
            self._exchange.forget(call)

    def go_down(self, down: LinkDown) -> None:
        """End the connection and every open call now."""
        self._exchange.go_down(down)

    async def run(self) -> None:
        """Serve the connection until it is down; for `open_link` only. Raises nothing."""
        with self._tasks:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                nursery.start_soon(self._write)
                nursery.start_soon(self._exchange.end_late_calls)
                nursery.start_soon(self._beat)

    async def shake_hands(self, client: ClientName) -> None:
        """Say hello and wait for the first welcome; for `open_link` only.

        Raises: CompanionOffline when the host hangs or leaves; VersionSkew.
        """
        self._exchange.send(encode_hello(client.name, client.version, os.getpid()))
        with trio.move_on_after(HANDSHAKE_TIMEOUT_S):
            while self.down is None and self.welcome is None:
                await self.wait_changed()
        if self.down is not None:
            raise self.down.error(started=False)
        if self.welcome is None:
            raise CompanionOffline(f"The native host did not answer within {HANDSHAKE_TIMEOUT_S:.0f} s.", started=False)
        skew = maybe_skew(self.welcome)
        if skew is not None:
            raise skew

    # -- the tasks ---------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            is_whole = await read_payloads(self._sock, self._take_payload)
        except (BadFrame, BadHostFrame) as error:
            self._exchange.send(encode_protocol_error("INVALID_ARGUMENT", str(error)))
            self.go_down(LinkDown(f"the native host broke the protocol ({error})"))
        except OSError as error:
            self.go_down(socket_failed(error))
        except trio.ClosedResourceError:
            assert self.down is not None, "only _close closes the socket"
        else:
            where = "" if is_whole else " in the middle of a frame"
            self.go_down(LinkDown(f"the native host closed the connection{where}"))

    async def _write(self) -> None:
        try:
            await self._writer.run()
        except OSError as error:
            self.go_down(socket_failed(error))
        except trio.ClosedResourceError:
            assert self.down is not None, "only _close closes the socket"

    async def _beat(self) -> None:
        """Ping once per period; end the link when the host is silent, or takes nothing of what waits for it."""
        heartbeat = Heartbeat(HEARTBEAT_S, HEARTBEAT_MISSES)
        heartbeat.add(_LEG, trio.current_time())
        while (due_s := heartbeat.next_due_s()) is not None:
            await trio.sleep_until(due_s)
            is_read, was_heard, self._was_heard = self._writer.take_progress(), self._was_heard, False
            if was_heard and is_read:
                heartbeat.heard(_LEG)
            if heartbeat.tick(trio.current_time()).ping:
                self._exchange.send(encode_ping(int(time.time() * 1000)))
        self.go_down(LinkDown(f"the native host gave no sign of life for {HEARTBEAT_S * HEARTBEAT_MISSES:.0f} s"))

    def _close(self) -> None:
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._tasks.cancel()
        self._announce_change()

    def _announce_change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    # -- frames ------------------------------------------------------------------------------------------------------

    def _take_payload(self, payload: bytes | bytearray) -> bool:
        self._was_heard = True
        frame = parse_host_frame_untrusted(payload)
        self._handlers[type(frame)](frame)
        return self.down is None

    def _on_welcome(self, welcome: Welcome) -> None:
        self.welcome = welcome
        self._announce_change()

    def _on_ping(self, ping: Ping) -> None:
        self._exchange.send(encode_pong(ping.t))

    def _on_pong(self, pong: Pong) -> None:
        pass  # that it came is all that counts, and `_take_payload` has noted that

    def _on_host_event(self, event: Event) -> None:
        if self.on_event is not None:
            self.on_event(event)

    def _on_protocol_error(self, error: ProtocolError) -> None:
        self.go_down(LinkDown(error.message, error))


@asynccontextmanager
async def open_link(socket_path: Path, *, client: ClientName = UNNAMED) -> AsyncGenerator[Link]:
    """Connect to one companion and keep the connection for the length of the context.

    The link may go down inside the context; then every call says so. Leaving the context closes it at once.

    Raises (on entry): CompanionOffline when nobody listens or answers there; VersionSkew.
    """
    link = Link(connect(socket_path))
    async with open_background_nursery() as nursery:
        nursery.start_soon(link.run)
        try:
            await link.shake_hands(client)
            yield link
        finally:
            link.go_down(LinkDown("the connection was closed here"))


def connect(path: Path) -> socket.socket:
    """Connect without waiting: a Unix socket accepts at once, refuses at once, or has its queue full.

    Raises: CompanionOffline.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        sock.connect(os.fspath(path))
    except OSError as error:
        sock.close()
        raise CompanionOffline(f"Nobody answers at {path.name} ({error.strerror}).", started=False) from error
    return sock
