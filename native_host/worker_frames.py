"""Finding out where a frame of the worker goes, if possible without reading its body. Pure.

The extension writes `conn`, `type` and `id` first and in this order, so the first bytes of
``{"conn":5,"type":"result","id":7,…`` are enough, and the rest, perhaps megabytes, is passed on as Chrome wrote it.
Anything else is parsed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from native_host.commands import Payload
from native_host.messages import BadMessage, Message, checked_fields, encode, is_count, message_type, parse_untrusted
from native_host.protocol import WORKER_TO_HOST

_ROUTED: Final = re.compile(rb'\{"conn":(\d{1,15}),"type":"(result|chunk)","id":(\d{1,16}),"')

_FOR_BROKERS: Final = frozenset({"result", "chunk", "event", "error"})


class WorkerFrame(NamedTuple):
    """One frame, with what a broker may see of it (`payload`: without `conn`) or what the host reads (`fields`)."""

    kind: str
    conn: int
    call_id: int = 0
    payload: Payload = b""
    fields: Message = {}  # noqa: RUF012  # never written to


def read_worker_frame_untrusted(payload: bytearray) -> WorkerFrame:
    """Return type and address of `payload`, which is taken over.

    Raises:
        BadMessage: it is not a message that a worker may send.
    """
    routed = _ROUTED.match(payload)
    if routed is None:
        return _parsed(payload)
    conn, kind, call_id = routed.groups()
    # `{"conn":5,"type":…` becomes `{"type":…` without moving a byte: the comma after the number turns into the brace.
    cut = routed.end(1)
    payload[cut] = ord("{")
    return WorkerFrame(kind.decode(), int(conn), int(call_id), memoryview(payload)[cut:])


def _parsed(payload: bytearray) -> WorkerFrame:
    message = parse_untrusted(payload)
    kind = message_type(message, WORKER_TO_HOST)
    conn = message.get("conn")
    if not isinstance(conn, int) or not is_count(conn):
        raise BadMessage(f"{kind}: field 'conn' is missing or no number")
    fields = checked_fields(kind, message)
    call_id = fields.get("id", 0)
    assert isinstance(call_id, int)
    passed_on = encode({"type": kind, **fields}) if kind in _FOR_BROKERS else b""
    return WorkerFrame(kind, conn, call_id, passed_on, fields)
