"""One broker's side of the relay: its handshake, its open calls, and how much it may leave unread. Pure.

A table says what is understood in which state; a missing pair is the broker's breach and ends this connection, never
another. Only `relay` calls this module.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import ClassVar, Final, NamedTuple, cast

from native_host import answers
from native_host.commands import CallEnded, CloseBroker, Command, ForgetUnsent, Note, Payload, ToBroker, ToWorker
from native_host.messages import BadMessage, Message, checked_fields, encode, message_type, parse_untrusted
from native_host.protocol import (
    BROKER_TO_HOST,
    MAX_BROKER_QUEUE_BYTES,
    MAX_OPEN_CALLS_PER_CONNECTION,
    MAX_OPEN_CALLS_PER_WORKER,
    agree_version,
)
from native_host.worker_state import WorkerState

RETRY_AFTER_MS: Final = 500
"""What a refused call is told to wait: about the length of one read through the page."""

MAX_TRACEPARENT_CHARS: Final = 100
"""The header has 55; a later version may add a part."""

SMALL_BYTES: Final = 64 * 1024
"""A queue up to this length counts as idle, and a result up to this size always reaches its broker: 32 of them are
2 MiB above the queue's limit at worst."""


class State(Enum):
    """How far a connection is. There is no way back."""

    NEW = auto()  # nothing but `hello` is understood
    OPEN = auto()
    CLOSING = auto()  # an `error` is on its way out; nothing more is read or sent


class OpenCall(NamedTuple):
    """A call that the worker has: its op, when it came, and the trace that it belongs to."""

    op: str
    since_s: float
    traceparent: str


class Connection:
    """One broker, as long as its socket lives. `number` is its address on the Chrome leg."""

    def __init__(self, number: int, host_pid: int, worker: WorkerState) -> None:
        self.number = number
        self.state = State.NEW
        self.v = 0
        # Bytes that wait for this broker to read them.
        self.queued_bytes = 0
        self._host_pid = host_pid
        self._worker = worker
        # Invariant: `_open_calls` (by id) and `_draining` share no id. Open means: from its `call` to its `result`.
        self._open_calls: dict[int, OpenCall] = {}
        # Calls that the host has answered itself while the worker still works on them; its late words are dropped.
        self._draining: set[int] = set()

    def __repr__(self) -> str:
        calls = f"{len(self._open_calls)} open, {len(self._draining)} draining"
        return f"<Connection {self.number} {self.state.name} {calls}, {self.queued_bytes} bytes queued>"

    @property
    def calls_in_worker(self) -> int:
        """How many of the worker's places this connection takes."""
        return len(self._open_calls) + len(self._draining)

    # -- What the broker sends -------------------------------------------------------------------------------------

    def frame_untrusted(self, payload: bytes | bytearray, now_s: float) -> list[Command]:
        """Handle one frame. Only fields of the table go on, under this connection's own number."""
        if self.state is State.CLOSING:
            return []
        try:
            message = parse_untrusted(payload)
            kind = message_type(message, BROKER_TO_HOST)
            handle = self._UNDERSTOOD[self.state].get(kind)
            if handle is None:
                raise BadMessage(f"{kind} is not understood in state {self.state.name}")
            return handle(self, checked_fields(kind, message), now_s)
        except BadMessage as error:
            return self.refuse("INVALID_ARGUMENT", str(error))

    def _hello(self, hello: Message, now_s: float) -> list[Command]:
        v_min, v_max, build = cast(int, hello["v_min"]), cast(int, hello["v_max"]), cast(str, hello["build"])
        v = agree_version(v_min, v_max)
        if v is None:
            return self.refuse("VERSION_SKEW", answers.broker_skew(v_min, v_max, build))
        extension = self._worker.extension
        if extension is not None and not extension.speaks_our_version:
            return self.refuse("VERSION_SKEW", answers.extension_skew(extension))
        self.state = State.OPEN
        self.v = v
        client = cast(Message, hello["client"])
        about = {"name": client["name"], "version": client["version"]}
        opened = encode({"conn": self.number, "type": "conn_open", "client": about, "build": build})
        note = f"connection {self.number} opens: {about['name']:.40}, broker build {build:.40}, process {hello['pid']}"
        return [Note(note), ToWorker(self.number, opened), *self.welcome()]

    def welcome(self) -> list[Command]:
        """Tell an open connection who is behind this host; others get it with their `hello`."""
        if self.state is not State.OPEN:
            return []
        return [self._queue(answers.welcome(self.v, self._host_pid, self._worker.extension))]

    def _call(self, call: Message, now_s: float) -> list[Command]:
        call_id = cast(int, call["id"])
        if call_id in self._open_calls or call_id in self._draining:
            raise BadMessage(f"call: id {call_id} is still open")
        refusal = self._maybe_refusal(call_id)
        if refusal is not None:
            return [self._queue(refusal)]
        payload = encode({"conn": self.number, "type": "call", **call})
        traceparent = cast("dict[str, object]", call["trace"]).get("traceparent")
        self._open_calls[call_id] = OpenCall(cast(str, call["op"]), now_s, str(traceparent)[:MAX_TRACEPARENT_CHARS])
        self._worker.calls += 1
        return [ToWorker(self.number, payload, call_id)]

    def _maybe_refusal(self, call_id: int) -> bytes | None:
        if self._worker.extension is None:
            text = "the extension has not reported ready yet; try again in a moment"
            return answers.failed_result(call_id, "COMPANION_OFFLINE", text, started=False)
        if self.calls_in_worker >= MAX_OPEN_CALLS_PER_CONNECTION:
            text = f"{MAX_OPEN_CALLS_PER_CONNECTION} calls of this connection are open already"
        elif self._worker.calls >= MAX_OPEN_CALLS_PER_WORKER:
            text = f"{MAX_OPEN_CALLS_PER_WORKER} calls are open in this browser already"
        else:
            return None
        wait: dict[str, object] = {"retry_after_ms": RETRY_AFTER_MS}
        return answers.failed_result(call_id, "RATE_LIMITED", text, started=False, detail=wait)

    def _cancel(self, cancel: Message, now_s: float) -> list[Command]:
        if cancel["id"] not in self._open_calls:  # its result and the wish to stop it crossed on the way
            return []
        return [ToWorker(self.number, encode({"conn": self.number, "type": "cancel", **cancel}))]

    def _ping(self, ping: Message, now_s: float) -> list[Command]:
        seen = self._worker.silence_ms(now_s)
        return [self._queue(encode({"type": "pong", "t": ping["t"], "worker_last_seen_ms": seen}))]

    def _pong(self, pong: Message, now_s: float) -> list[Command]:
        return []

    def _error(self, error: Message, now_s: float) -> list[Command]:
        return self._close(f"the broker reports {error['code']:.40}")

    # -- What the worker sends -------------------------------------------------------------------------------------

    def result(self, call_id: int, payload: Payload, now_s: float) -> list[Command]:
        """Pass on the end of a call; one that the host ended itself, or never saw, is dropped."""
        call = self._open_calls.pop(call_id, None)
        if call is None and call_id not in self._draining:
            return []
        self._worker.calls -= 1
        if call is None:
            self._draining.discard(call_id)
            return []
        ended = CallEnded(call.op, call.traceparent, (now_s - call.since_s) * 1000)
        if len(payload) > SMALL_BYTES and self._is_full(payload):
            payload = answers.failed_result(call_id, "STREAM_SEVERED", self._slow(payload), started=True)
        return [self._queue(payload), ended]

    def chunk(self, call_id: int, payload: Payload) -> list[Command]:
        """Pass on a piece of a stream, or give up the streams of a broker that does not read them."""
        if call_id not in self._open_calls:
            return []
        return self._sever_streams(self._slow(payload)) if self._is_full(payload) else [self._queue(payload)]

    def event(self, payload: Payload) -> list[Command]:
        """Pass on what happened in the browser."""
        return [self._queue(payload)] if self.state is State.OPEN else []

    def _is_full(self, payload: Payload) -> bool:
        # An idle queue takes a frame of any size: the limit is about brokers that do not read, not about long answers.
        return self.queued_bytes > SMALL_BYTES and self.queued_bytes + len(payload) > MAX_BROKER_QUEUE_BYTES

    def _slow(self, payload: Payload) -> str:
        return (
            f"this broker reads too slowly: {self.queued_bytes} bytes wait for it, and {len(payload)} more "
            f"would pass the limit of {MAX_BROKER_QUEUE_BYTES}"
        )

    def _sever_streams(self, why: str) -> list[Command]:
        commands: list[Command] = []
        for call_id in [call_id for call_id, call in self._open_calls.items() if call.op == "stream"]:
            del self._open_calls[call_id]
            self._draining.add(call_id)
            cancel = {"conn": self.number, "type": "cancel", "id": call_id, "reason": "the broker does not read"}
            commands.append(ToWorker(self.number, encode(cancel)))
            commands.append(self._queue(answers.failed_result(call_id, "STREAM_SEVERED", why, started=True)))
        return commands

    def _queue(self, payload: Payload) -> ToBroker:
        self.queued_bytes += len(payload)
        return ToBroker(self.number, payload)

    # -- The end ---------------------------------------------------------------------------------------------------

    def ping(self, t: int) -> list[Command]:
        """Ask for a sign of life. A connection that has not even said hello after a whole period is refused."""
        if self.state is State.NEW:
            return self.refuse("INVALID_ARGUMENT", "no hello came")
        return [self._queue(encode({"type": "ping", "t": t}))] if self.state is State.OPEN else []

    def refuse(self, code: str, message: str) -> list[Command]:
        """End a connection that broke the protocol, and say why; all others go on."""
        if self.state is State.CLOSING:
            return []
        error = self._queue(answers.protocol_error(code, message))
        return [error, *self._close(f"{code}: {message}")]

    def _close(self, reason: str) -> list[Command]:
        return [*self.leave(reason), CloseBroker(self.number, reason)]

    def leave(self, reason: str) -> list[Command]:
        """Tell the worker that this broker is gone: it aborts the reads and finishes the mutations. Idempotent."""
        was_open = self.state is State.OPEN
        self.state = State.CLOSING
        self._worker.calls -= self.calls_in_worker
        self._open_calls.clear()
        self._draining.clear()
        if not was_open:
            return []
        close = encode({"conn": self.number, "type": "conn_close", "reason": reason[:200]})
        return [ForgetUnsent(self.number), ToWorker(self.number, close)]

    # A missing pair is a breach. Together the keys are `protocol.BROKER_TO_HOST` (a test compares them).
    _UNDERSTOOD: ClassVar[dict[State, dict[str, Callable[[Connection, Message, float], list[Command]]]]] = {
        State.NEW: {"hello": _hello, "error": _error},
        State.OPEN: {"call": _call, "cancel": _cancel, "ping": _ping, "pong": _pong, "error": _error},
    }
