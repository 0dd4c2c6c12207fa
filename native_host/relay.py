"""What the host does with each event: the state of all connections and of the worker, and no I/O at all.

Events go in (a frame arrived, a broker left, time passed), commands come out, to be carried out in that order. The
shell in `loop` reads and writes; it decides nothing. The relay has no policy either: it checks that a frame is one of
the table, sets the connection number, and counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, cast

from native_host import answers
from native_host.commands import Command, EndHost, Note, ToWorker
from native_host.connection import Connection
from native_host.heartbeat import Heartbeat
from native_host.messages import BadMessage, encode
from native_host.protocol import HEARTBEAT_MISSES, HEARTBEAT_S
from native_host.worker_frames import WorkerFrame, read_worker_frame_untrusted
from native_host.worker_state import Extension, WorkerState

WORKER: Final = 0
"""The worker's number: its leg in the heartbeat, its own lane, and `conn` of frames that concern no broker."""


class Relay:
    """All connections of one host process. `now_s` is any monotonic clock, the same in each call."""

    def __init__(self, host_pid: int, now_s: float) -> None:
        self._host_pid = host_pid
        self._worker = WorkerState()
        self._connections: dict[int, Connection] = {}
        self._last_number = WORKER
        self._heartbeat = Heartbeat(HEARTBEAT_S, HEARTBEAT_MISSES)
        self._heartbeat.add(WORKER, now_s)

    def __repr__(self) -> str:
        worker = "ready" if self._worker.extension else "not ready"
        return f"<Relay worker {worker}, {self._worker.calls} calls, {list(self._connections.values())}>"

    # -- Brokers ---------------------------------------------------------------------------------------------------

    def open_connection(self, now_s: float) -> int:
        """Take in a new broker and return its number, which no other connection of this process ever has."""
        self._last_number += 1
        self._connections[self._last_number] = Connection(self._last_number, self._host_pid, self._worker)
        self._heartbeat.add(self._last_number, now_s)
        return self._last_number

    def broker_frame_untrusted(self, conn: int, payload: bytes | bytearray, now_s: float) -> list[Command]:
        """Handle one frame from a broker. Whatever is in it, no other connection sees any of it."""
        connection = self._connections.get(conn)
        if connection is None:
            return []
        self._heartbeat.heard(conn)
        return connection.frame_untrusted(payload, now_s)

    def refuse_broker(self, conn: int, message: str) -> list[Command]:
        """End a connection whose stream of bytes cannot be read any further."""
        connection = self._connections.get(conn)
        return connection.refuse("INVALID_ARGUMENT", message) if connection else []

    def broker_took(self, conn: int, size_bytes: int) -> None:
        """Note that the socket took payloads of this size."""
        connection = self._connections.get(conn)
        if connection is not None:
            connection.queued_bytes -= size_bytes

    def queued_bytes(self, conn: int) -> int:
        """Return how many bytes wait for this broker to read them."""
        connection = self._connections.get(conn)
        return connection.queued_bytes if connection else 0

    def broker_is_held_back(self, conn: int) -> None:
        """Note that *we* do not read from this broker at the moment, so its silence is no sign of death."""
        self._heartbeat.heard(conn)

    def broker_closed(self, conn: int, reason: str) -> list[Command]:
        """Forget a connection whose socket is gone."""
        self._heartbeat.remove(conn)
        connection = self._connections.pop(conn, None)
        return connection.leave(reason) if connection else []

    # -- The worker ------------------------------------------------------------------------------------------------

    def worker_frame_untrusted(self, payload: bytearray, now_s: float) -> list[Command]:
        """Handle one frame from the worker. `payload` is taken over: it is passed on without a copy."""
        self._worker.last_seen_s = now_s
        self._heartbeat.heard(WORKER)
        try:
            frame = read_worker_frame_untrusted(payload)
        except BadMessage as error:  # a newer extension may know more types than we do: no reason to drop every broker
            return [Note(f"frame of the worker ignored: {error}")]
        return self._FROM_WORKER[frame.kind](self, frame, now_s)

    def _result(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        connection = self._connections.get(frame.conn)
        return connection.result(frame.call_id, frame.payload, now_s) if connection else []

    def _chunk(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        connection = self._connections.get(frame.conn)
        return connection.chunk(frame.call_id, frame.payload) if connection else []

    def _event(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        if frame.conn != WORKER:
            connection = self._connections.get(frame.conn)
            return connection.event(frame.payload) if connection else []
        return [command for connection in self._connections.values() for command in connection.event(frame.payload)]

    def _ready(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        said = frame.fields
        extension = Extension(
            v_min=cast(int, said["v_min"]),
            v_max=cast(int, said["v_max"]),
            build=cast(str, said["build"]),
            extension_id=cast(str, said["extension_id"]),
            profile=cast(str, said["profile"]),
            account=cast("str | None", said["account"]),
        )
        self._worker.extension = extension
        brokers = list(self._connections.values())
        if extension.speaks_our_version:
            note = Note(f"worker ready: extension build {extension.build:.40}, profile {extension.profile:.40}")
            return [note, *(command for broker in brokers for command in broker.welcome())]
        skew = answers.extension_skew(extension)
        to_worker = ToWorker(WORKER, answers.protocol_error("VERSION_SKEW", skew, conn=WORKER))
        ended = [command for broker in brokers for command in broker.refuse("VERSION_SKEW", skew)]
        return [Note(f"VERSION_SKEW: {skew}"), to_worker, *ended]

    def _ping(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        seen: dict[str, object] = {"conn": WORKER, "type": "pong", "t": frame.fields["t"]}
        return [ToWorker(WORKER, encode(seen))]

    def _pong(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        return []

    def _error(self, frame: WorkerFrame, now_s: float) -> list[Command]:
        code, message = cast(str, frame.fields["code"]), cast(str, frame.fields["message"])
        if frame.conn == WORKER:
            return [EndHost(f"the worker reports {code:.40}: {message:.200}")]
        connection = self._connections.get(frame.conn)
        return connection.refuse(code, message) if connection else []

    # -- Time ------------------------------------------------------------------------------------------------------

    def next_tick_s(self) -> float:
        """Return when `tick` has something to do."""
        due_s = self._heartbeat.next_due_s()
        assert due_s is not None, "the worker's leg is watched as long as the host lives"
        return due_s

    def tick(self, now_s: float) -> list[Command]:
        """Ping the legs that are due, end those that are dead."""
        beat = self._heartbeat.tick(now_s)
        t = round(now_s * 1000)
        commands: list[Command] = []
        for leg in beat.ping:
            if leg == WORKER:
                commands.append(ToWorker(WORKER, encode({"conn": WORKER, "type": "ping", "t": t})))
            else:
                commands += self._connections[leg].ping(t)
        for leg in beat.ended:
            if leg == WORKER:
                return [EndHost("the worker gives no sign of life")]
            commands += self._connections[leg].refuse("TIMEOUT", "this broker gives no sign of life")
        return commands

    # Invariant: the keys are `protocol.WORKER_TO_HOST` (a test compares them).
    _FROM_WORKER: ClassVar[dict[str, Callable[[Relay, WorkerFrame, float], list[Command]]]] = {
        "ready": _ready,
        "result": _result,
        "chunk": _chunk,
        "event": _event,
        "ping": _ping,
        "pong": _pong,
        "error": _error,
    }
