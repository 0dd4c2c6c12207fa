"""What the relay tells the shell to do: values, carried out in order. Pure."""

from __future__ import annotations

from typing import NamedTuple

Payload = bytes | bytearray | memoryview


class ToBroker(NamedTuple):
    """Queue a frame for this broker."""

    conn: int
    payload: Payload


class ToWorker(NamedTuple):
    """Queue a frame for the worker, in the lane of this connection (0: the host's own)."""

    conn: int
    payload: bytes
    message_id: int = 0


class ForgetUnsent(NamedTuple):
    """What this connection has in the queue towards the worker must not leave any more."""

    conn: int


class CloseBroker(NamedTuple):
    """Close this connection once its queue has been written, or shortly after."""

    conn: int
    reason: str


class EndHost(NamedTuple):
    """Leave: the worker's leg is over."""

    reason: str


class Note(NamedTuple):
    """Write one line to the log. Never holds anything that a broker or a page sent as content."""

    text: str


class CallEnded(NamedTuple):
    """Write to the log how long the worker had a call, by the trace it belongs to."""

    op: str
    traceparent: str
    took_ms: float


Command = ToBroker | ToWorker | ForgetUnsent | CloseBroker | EndHost | Note | CallEnded
