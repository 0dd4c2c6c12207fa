"""MCP over stdio, both protocol eras at once, on top of the SDK's public `Server.run(read, write, options)`.

Why not the SDK's own transport: it reads in a thread that cannot be cancelled (so it hangs on signals and closed
pipes), drops malformed frames without an answer, buffers without limit, and locks itself to one era (ADR-033).

One task reads, parses and routes. Each era has one SDK loop and one task that writes what the loop says. At end of
file calls already taken get a moment to finish, then each loop cancels the rest, answers them, and ends: clients kill
a server two seconds after they closed its input.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import anyio
import trio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, JSONRPCError, JSONRPCMessage, JSONRPCResponse

from broker.in_flight import Era, InFlight
from broker.json_lines import LineSplitter, OversizedLine
from broker.jsonrpc_guard import BadFrame, encode_message, parse_message_untrusted
from broker.stdio_wire import StdioWire, WireClosed

log = logging.getLogger(__name__)

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
DRAIN_S: Final = 1.0
"""After end of file: how long calls already taken may still run."""
SETTLE_S: Final = 0.4
"""After that: how long the loops may take to answer what they cancelled. Together below the clients' two seconds."""


class StdioTransport:
    """Serves one `Server` on one wire, once."""

    def __init__(
        self,
        server: Server[Any],
        wire: StdioWire,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        drain_s: float = DRAIN_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._server = server
        self._wire = wire
        self._max_line_bytes = max_line_bytes
        self._drain_s = drain_s
        self._settle_s = settle_s
        self._in_flight = InFlight()
        self._inboxes: dict[Era, MemoryObjectSendStream[SessionMessage | Exception]] = {}
        self._everything = trio.CancelScope()

    async def serve(self, stop: trio.Event) -> None:
        """Serve until end of file, until the client closes our output, or until `stop` is set."""
        with self._everything:
            async with trio.open_nursery() as loops:
                try:
                    with trio.CancelScope() as reading:
                        loops.start_soon(_cancel_when, stop, reading)
                        await self._read_and_route(loops)
                        with trio.move_on_after(self._drain_s):
                            await self._in_flight.wait_idle()
                finally:
                    loops.cancel_scope.deadline = trio.current_time() + self._settle_s
                    for inbox in self._inboxes.values():
                        inbox.close()
                    stop.set()  # releases the watcher, so that the loops are all that is waited for

    async def _read_and_route(self, loops: trio.Nursery) -> None:
        splitter = LineSplitter(self._max_line_bytes)
        while (line := await self._maybe_next_line(splitter)) is not None:
            try:
                if isinstance(line, OversizedLine):
                    raise BadFrame(INVALID_REQUEST, f"Invalid request: a message may have {line.limit_bytes} bytes")
                message = parse_message_untrusted(line)
                era = self._in_flight.route(message)
            except BadFrame as bad:
                await self._send(bad.response)
                continue
            await self._inbox(era, loops).send(SessionMessage(message))

    async def _maybe_next_line(self, splitter: LineSplitter) -> bytes | OversizedLine | None:
        """Return the next line, or None at end of file."""
        while (line := splitter.maybe_next_line()) is None:
            data = await self._wire.receive_some()
            if not data:
                return None
            splitter.feed_untrusted(data)
        return line

    def _inbox(self, era: Era, loops: trio.Nursery) -> MemoryObjectSendStream[SessionMessage | Exception]:
        """Return where `era`'s loop reads, starting the loop at its first message."""
        if era not in self._inboxes:
            # No buffer on either side: a client that does not read is felt by the loop, not by our memory.
            inbox, to_loop = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            from_loop, outbox = anyio.create_memory_object_stream[SessionMessage](0)
            self._inboxes[era] = inbox
            loops.start_soon(self._run_loop, to_loop, from_loop, name=f"{era} loop")
            loops.start_soon(self._write_all, outbox, name=f"{era} writer")
        return self._inboxes[era]

    async def _run_loop(
        self,
        to_loop: MemoryObjectReceiveStream[SessionMessage | Exception],
        from_loop: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        await self._server.run(to_loop, from_loop, self._server.create_initialization_options())

    async def _write_all(self, outbox: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with outbox:
            async for item in outbox:
                await self._send(item.message)
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._in_flight.close(item.message.id)

    async def _send(self, message: JSONRPCMessage) -> None:
        try:
            line = encode_message(message)
        except ValueError:
            log.warning("a message of ours is not valid Unicode")  # the fault of that one call only
            if not isinstance(message, JSONRPCResponse):
                return
            excuse = BadFrame(INTERNAL_ERROR, "Internal error: the result is not valid Unicode", message.id)
            line = encode_message(excuse.response)
        try:
            await self._wire.send_line(line)
        except WireClosed:
            self._everything.cancel()


async def _cancel_when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


# The loops must fit into what clients wait before they kill us.
assert DRAIN_S + SETTLE_S < 2.0
