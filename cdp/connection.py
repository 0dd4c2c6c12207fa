"""A CDP connection on Trio: one reader task, one writer task, any number of callers.

``async with open_connection(ws_url) as connection`` owns both tasks. Deadlines belong to the callers: nothing here
times out by itself except opening and closing. A cancelled caller never leaves half a command behind: see
`cdp.outgoing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final, NoReturn

import trio

from cdp.domains.protocol import Command, R, decode_result_untrusted, encode_params
from cdp.errors import BadMessage, CallFailed, CdpError, ConnectionLost, SessionDetached
from cdp.events import E, EventStream, TypedEventStream
from cdp.messages import (
    ErrorResponse,
    Event,
    JsonObject,
    Response,
    encode_command,
    maybe_event_name,
    parse_cdp_message_untrusted,
    text_field,
)
from cdp.outgoing import Outgoing
from cdp.pending import PendingCalls
from cdp.tasks import background_nursery
from cdp.transport import Transport
from cdp.waiter import Waiter
from cdp.websocket import CONNECT_TIMEOUT_S, open_websocket_transport

EVENT_CAPACITY: Final = 1024
DETACHED: Final = "Target.detachedFromTarget"


class Connection:
    """Calls and events over one transport. Make it with `open_connection` or `run_connection`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._pending: PendingCalls[Waiter[JsonObject | CdpError]] = PendingCalls()
        self._streams: list[EventStream] = []
        self._outgoing = Outgoing(transport)
        # Events of other methods are thrown away unread: a busy page sends tens of thousands of them a second.
        self._wanted_events: Counter[str] = Counter([DETACHED])
        self._lost_because: str | None = None

    def __repr__(self) -> str:
        state = "open" if self._lost_because is None else f"lost: {self._lost_because}"
        return f"<Connection {len(self._pending)} pending, {len(self._streams)} event streams, {state}>"

    @property
    def pending_count(self) -> int:
        """How many calls wait for an answer now."""
        return len(self._pending)

    async def call(
        self, method: str, params: Mapping[str, object] | None = None, session_id: str | None = None
    ) -> JsonObject:
        """Send a command and return its result object.

        Raises:
            CallFailed: the browser answered with an error.
            SessionDetached: the target of `session_id` went away first.
            ConnectionLost: the connection ended first, or had ended before.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        waiter: Waiter[JsonObject | CdpError] = Waiter()
        call_id = self._pending.add(method, session_id, waiter)
        try:
            self._outgoing.put(call_id, encode_command(call_id, method, params, session_id), len(self._pending))
            outcome = await waiter.wait()
        finally:
            # A call that was answered is in neither.
            self._pending.drop(call_id)
            self._outgoing.withdraw(call_id)
        if isinstance(outcome, CdpError):
            raise outcome
        return outcome

    async def execute(self, command: Command[R], session_id: str | None = None) -> R:
        """Send a typed command and return its typed result; raises what `call` does.

        Raises:
            BadMessage: the result has another shape than the protocol says; the connection goes on.
        """
        result = await self.call(command.method, encode_params(command), session_id)
        return decode_result_untrusted(command, result)

    def session(self, session_id: str) -> Session:
        """Return the view of this connection on one attached target."""
        return Session(self, session_id)

    @contextmanager
    def events(
        self, *methods: str, session_id: str | None = None, capacity: int = EVENT_CAPACITY
    ) -> Generator[EventStream]:
        """Subscribe to events of these methods (of one session, or of the browser) until the block is left.

        Enter the block before sending the command that causes the events. Overflow rule: see `cdp.events`.
        """
        stream = EventStream(frozenset(methods), session_id, capacity)
        if self._lost_because is not None:
            stream.end(ConnectionLost(self._lost_because))
        self._streams.append(stream)
        self._wanted_events.update(methods)
        try:
            yield stream
        finally:
            self._streams.remove(stream)
            self._wanted_events.subtract(methods)

    @contextmanager
    def subscribe(
        self, event_class: type[E], *, session_id: str | None = None, capacity: int = EVENT_CAPACITY
    ) -> Generator[TypedEventStream[E]]:
        """Subscribe to events of one class; see `events`."""
        with self.events(event_class.method, session_id=session_id, capacity=capacity) as stream:
            yield TypedEventStream(event_class, stream)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read and write until cancelled or until the transport ends. For the opener's nursery; never raises."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_lost, self._outgoing.write)
                task_status.started()
                await self._until_lost(self._read)
                nursery.cancel_scope.cancel()
        finally:
            self._fail("the connection was cancelled")  # a call made in somebody's cleanup must not wait for ever

    def close_nowait(self, reason: str) -> None:
        """Fail every open and later call, and every event stream, with `reason`."""
        self._fail(reason)

    async def _until_lost(self, read_or_write: Callable[[], Awaitable[NoReturn]]) -> None:
        try:
            await read_or_write()
        except (ConnectionLost, BadMessage) as error:
            self._fail(str(error))

    async def _read(self) -> NoReturn:
        while True:
            for text in await self._transport.receive():
                self._handle_untrusted(text)

    def _handle_untrusted(self, text: str | bytes) -> None:
        name = maybe_event_name(text)
        if name is not None and not self._wanted_events[name]:
            return
        message = parse_cdp_message_untrusted(text)
        if isinstance(message, Response):
            call = self._pending.take(message.id)
            if call is not None:
                call.waiter.settle(message.result)
        elif isinstance(message, Event):
            self._dispatch(message)
        else:
            self._dispatch_error(message)

    def _dispatch(self, event: Event) -> None:
        for stream in self._streams:
            stream.offer(event)
        if event.method == DETACHED:
            session_id = text_field(event.params, "sessionId")
            reason = f"session {session_id}: its target closed, or it was detached"
            for call in self._pending.take_session(session_id):
                call.waiter.settle(SessionDetached(reason))
            for stream in self._streams:
                stream.end(SessionDetached(reason), session_id)

    def _dispatch_error(self, message: ErrorResponse) -> None:
        if message.id is None:
            raise BadMessage(f"the browser could not read a command: {message.message} ({message.code})")
        call = self._pending.take(message.id)
        if call is not None:
            call.waiter.settle(CallFailed(call.method, message.code, message.message, message.data))

    def _fail(self, reason: str) -> None:
        # Each owner gets an error of its own: one exception raised in several tasks would mix their tracebacks.
        if self._lost_because is None:
            self._lost_because = reason
        self._outgoing.clear()
        for call in self._pending.close(self._lost_because):
            call.waiter.settle(ConnectionLost(self._lost_because))
        for stream in self._streams:
            stream.end(ConnectionLost(self._lost_because))


class Session:
    """The same connection, seen from one attached target (flattened sessions)."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self.connection = connection
        self.session_id = session_id

    def __repr__(self) -> str:
        return f"<Session {self.session_id} of {self.connection!r}>"

    async def call(self, method: str, params: Mapping[str, object] | None = None) -> JsonObject:
        """Send a command to this target; see `Connection.call`."""
        return await self.connection.call(method, params, self.session_id)

    @contextmanager
    def events(self, *methods: str, capacity: int = EVENT_CAPACITY) -> Generator[EventStream]:
        """Subscribe to events of this target; see `Connection.events`."""
        with self.connection.events(*methods, session_id=self.session_id, capacity=capacity) as stream:
            yield stream

    async def execute(self, command: Command[R]) -> R:
        """Send a typed command to this target; see `Connection.execute`."""
        return await self.connection.execute(command, self.session_id)

    @contextmanager
    def subscribe(self, event_class: type[E], *, capacity: int = EVENT_CAPACITY) -> Generator[TypedEventStream[E]]:
        """Subscribe to events of one class of this target; see `Connection.events`."""
        with self.connection.subscribe(event_class, session_id=self.session_id, capacity=capacity) as stream:
            yield stream


@asynccontextmanager
async def run_connection(transport: Transport) -> AsyncGenerator[Connection]:
    """Run a connection over a transport that is open already; the transport stays the caller's to close."""
    connection = Connection(transport)
    async with background_nursery() as nursery:
        await nursery.start(connection.run)
        try:
            yield connection
        finally:
            connection.close_nowait("the connection was closed by its owner")


@asynccontextmanager
async def open_connection(ws_url: str, *, connect_timeout_s: float = CONNECT_TIMEOUT_S) -> AsyncGenerator[Connection]:
    """Connect to a browser's (or target's) WebSocket endpoint and yield the connection.

    Raises:
        ConnectFailed: nothing listens there, the upgrade was refused, or it took too long.
    """
    async with (
        open_websocket_transport(ws_url, connect_timeout_s=connect_timeout_s) as transport,
        run_connection(transport) as connection,
    ):
        yield connection
