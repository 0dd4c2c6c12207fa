"""Whatever the worker sends, the host raises nothing, a broker gets only what is addressed to it, and what it gets is
a frame of the table or `BadHostFrame`.

The input is one native message per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from broker.relay_frames import BadHostFrame, parse_host_frame_untrusted
from native_host.commands import EndHost, ToBroker, ToWorker
from native_host.messages import BadMessage
from native_host.relay import WORKER, Relay
from native_host.worker_frames import read_worker_frame_untrusted
from tests.native_host.fakes import HELLO, READY, call_frame, dump


def one_input(data: bytes) -> None:
    relay = Relay(host_pid=1, now_s=0.0)
    brokers = [relay.open_connection(0.0) for _ in range(2)]
    for conn in brokers:
        relay.broker_frame_untrusted(conn, dump(HELLO), 0.0)
    relay.worker_frame_untrusted(bytearray(dump(READY)), 0.0)
    for conn in brokers:
        relay.broker_frame_untrusted(conn, dump(call_frame(1, op="stream")), 0.0)
    for number, line in enumerate(data.split(b"\n")):
        addressed = _address(line)
        commands = relay.worker_frame_untrusted(bytearray(line), float(number))
        for command in commands:
            if isinstance(command, ToBroker):
                assert addressed in (command.conn, None)
                _read_as_a_broker(bytes(command.payload))
            elif isinstance(command, ToWorker):
                json.loads(command.payload)
        if any(isinstance(command, EndHost) for command in commands):
            return


def _address(line: bytes) -> int | None:
    """Return the one broker that this message may reach, None for all of them, -1 for no one."""
    try:
        frame = read_worker_frame_untrusted(bytearray(line))
    except BadMessage:
        return -1
    if frame.kind == "ready" or (frame.kind == "event" and frame.conn == WORKER):
        return None
    return frame.conn


def _read_as_a_broker(payload: bytes) -> None:
    try:
        parse_host_frame_untrusted(payload)
    except BadHostFrame:
        return


def seeds() -> Iterator[bytes]:
    yield dump(READY)
    yield dump({**READY, "v_min": 99, "v_max": 99})
    yield dump({"conn": 1, "type": "result", "id": 1, "ok": True, "value": {"status": 200, "body": "[]"}, "hops": {}})
    failed = {"code": "RATE_LIMITED", "message": "slow", "detail": {"retry_after_ms": 5}, "started": False}
    yield dump({"conn": 2, "type": "result", "id": 1, "ok": False, "error": failed})
    chunks = [dump({"conn": 1, "type": "chunk", "id": 1, "seq": seq, "data": "é😀"}) for seq in range(3)]
    yield b"\n".join(chunks)
    yield dump({"conn": 0, "type": "event", "name": "tab_discarded", "detail": {}})
    yield dump({"conn": 1, "type": "event", "name": "sign_out", "detail": None})
    yield b"\n".join((dump({"conn": 0, "type": "ping", "t": 3}), dump({"conn": 0, "type": "pong", "t": 3})))
    yield dump({"conn": 1, "type": "error", "code": "INTERNAL", "message": "no"})
    yield dump({"conn": 0, "type": "error", "code": "VERSION_SKEW", "message": "no"})
