"""Whatever one broker sends, the relay answers that broker only, gives the worker nothing but strict JSON under that
broker's own number, and another broker's open call goes on.

The input is one frame per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from native_host.commands import CallEnded, CloseBroker, Command, ForgetUnsent, Note, ToBroker, ToWorker
from native_host.protocol import MAX_TO_CHROME_BYTES
from native_host.relay import Relay
from tests.native_host.fakes import HELLO, READY, call_frame, dump

BYSTANDER_CALL = 7


def one_input(data: bytes) -> None:
    relay = Relay(host_pid=1, now_s=0.0)
    relay.worker_frame_untrusted(bytearray(dump(READY)), 0.0)
    bystander, stranger = relay.open_connection(0.0), relay.open_connection(0.0)
    relay.broker_frame_untrusted(bystander, dump(HELLO), 0.0)
    relay.broker_frame_untrusted(bystander, dump(call_frame(BYSTANDER_CALL)), 0.0)
    for number, line in enumerate(data.split(b"\n")):
        for command in relay.broker_frame_untrusted(stranger, line, float(number)):
            _check(command, stranger)
    for command in relay.broker_closed(stranger, "gone"):
        _check(command, stranger)
    result = {"conn": bystander, "type": "result", "id": BYSTANDER_CALL, "ok": True, "value": 1}
    commands = relay.worker_frame_untrusted(bytearray(dump(result)), 1e6)
    assert [command.conn for command in commands if isinstance(command, ToBroker)] == [bystander]


def _check(command: Command, stranger: int) -> None:
    match command:
        case ToBroker(conn) | CloseBroker(conn) | ForgetUnsent(conn):
            assert conn == stranger
        case ToWorker(conn, payload):
            assert conn == stranger
            message = json.loads(payload.decode(), parse_constant=_no_constant)
            assert message["conn"] == stranger
            assert len(payload) <= MAX_TO_CHROME_BYTES or message["type"] == "call"
        case Note() | CallEnded():
            pass  # lines of the host's own log
        case _:
            raise AssertionError(f"a broker made the host do {command}")


def _no_constant(name: str) -> object:
    raise AssertionError(f"{name} is no JSON, and Chrome would close the port over it")


def seeds() -> Iterator[bytes]:
    hello = dump(HELLO)
    yield hello
    yield b"\n".join((hello, dump(call_frame(1)), dump({"type": "cancel", "id": 1, "reason": "deadline"})))
    yield b"\n".join((hello, dump({"type": "ping", "t": 1}), dump({"type": "pong", "t": 1})))
    yield b"\n".join((hello, dump({"type": "error", "code": "INTERNAL", "message": "bye"})))
    yield b"\n".join((hello, *(dump(call_frame(number)) for number in range(1, 40))))
    yield hello + b"\n" + dump(call_frame(1, notebook="half a pair")).replace(b"half a pair", b"\\ud800")
    yield dump({**HELLO, "v_min": 99, "v_max": 99})
    yield b"\n".join((hello, dump(call_frame(1, params={"nested": [[[[[]]]]]}, conn=1))))
