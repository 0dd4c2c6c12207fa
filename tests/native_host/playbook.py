"""Conversations with the relay as lists: events in, readable commands out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from native_host.commands import CloseBroker, Command, EndHost, ForgetUnsent, ToBroker, ToWorker
from native_host.relay import Relay
from tests.native_host.fakes import HELLO, READY, Frame, dump

Step = tuple[Any, ...]


def readable(commands: Iterable[Command]) -> list[Step]:
    """Return commands as tuples with their JSON read; notes for the log are left out."""
    steps: list[Step] = []
    for command in commands:
        match command:
            case ToBroker(conn, payload):
                steps.append(("to broker", conn, json.loads(bytes(payload))))
            case ToWorker(conn, payload, _):
                frame = json.loads(payload)
                assert frame["conn"] == conn, "a frame in the lane of another connection"
                steps.append(("to worker", frame))
            case ForgetUnsent(conn):
                steps.append(("forget unsent", conn))
            case CloseBroker(conn, reason):
                steps.append(("close", conn, reason))
            case EndHost(reason):
                steps.append(("end", reason))
            case _:
                pass
    return steps


class Play:
    """A relay at second 0 of its life; each method is one event."""

    def __init__(self, *, is_ready: bool = True) -> None:
        self.now_s = 0.0
        self.relay = Relay(host_pid=77, now_s=0.0)
        if is_ready:
            self.worker(READY)

    def open(self) -> int:
        return self.relay.open_connection(self.now_s)

    def greet(self) -> int:
        """Open a connection and shake hands."""
        conn = self.open()
        steps = self.broker(conn, HELLO)
        assert [step[0] for step in steps] == ["to worker", "to broker"], steps
        return conn

    def broker(self, conn: int, frame: Frame) -> list[Step]:
        return self.broker_payload(conn, dump(frame))

    def broker_payload(self, conn: int, payload: bytes) -> list[Step]:
        return readable(self.relay.broker_frame_untrusted(conn, payload, self.now_s))

    def worker(self, frame: Frame) -> list[Step]:
        return self.worker_payload(dump(frame))

    def worker_payload(self, payload: bytes) -> list[Step]:
        return readable(self.relay.worker_frame_untrusted(bytearray(payload), self.now_s))

    def gone(self, conn: int) -> list[Step]:
        return readable(self.relay.broker_closed(conn, "gone"))

    def tick(self, now_s: float) -> list[Step]:
        self.now_s = now_s
        return readable(self.relay.tick(now_s))
