"""The frames of the broker leg as values: what the host says to us parsed, what we say to it encoded.

Pure: bytes in, values out. The table is `native_host/protocol.py`; framing is `native_host.framing`. Whatever does not
fit the table raises `BadHostFrame` and nothing else: a peer that breaks the protocol is cut off, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import orjson
from attrs import define, field, frozen

from native_host.build import BUILD
from native_host.protocol import V_MAX, V_MIN


class BadHostFrame(ValueError):
    """The host sent something that the protocol does not allow. The text names the field, never its value."""


@frozen
class ExtensionInfo:
    """The worker behind the host, as it introduced itself. `profile` is a random id of that Chrome profile."""

    build: str
    id: str
    profile: str


@frozen
class Welcome:
    """The host's greeting. It comes again whenever the worker or the account configured in the extension changes.

    `extension` is None until the worker said `ready`; `account` is None while the person has configured none.
    """

    v: int
    host_build: str
    host_pid: int
    extension: ExtensionInfo | None
    account: str | None


@frozen
class WireError:
    """The `error` member of a failed result. `started` is False only on proof that nothing reached the service."""

    code: str
    message: str
    detail: dict[str, object]
    started: bool


# Not frozen: one is made per call, and a frozen slotted class costs three times as much to create. Nobody changes it.
@define(eq=False)
class Result:
    """The one end of a call: a value, or an error. `hops` are milliseconds by name, as the worker measured them."""

    id: int
    value: object = field(repr=False)
    error: WireError | None
    hops: dict[str, float]


@frozen
class Chunk:
    """A piece of a stream; `seq` counts from 0 without gaps."""

    id: int
    seq: int
    data: str = field(repr=False)


@frozen
class Event:
    """Something happened in the browser that no call asked for, such as `tab_discarded`."""

    name: str
    detail: object


@frozen
class Ping:
    """The host asks for a sign of life; `t` goes back as it came."""

    t: object


@frozen
class Pong:
    """The host's sign of life."""

    worker_last_seen_ms: float | None


@frozen
class ProtocolError:
    """The host says that we broke the protocol, or that no version is common. It closes the connection after it."""

    code: str
    message: str


HostFrame = Welcome | Result | Chunk | Event | Ping | Pong | ProtocolError


def parse_host_frame_untrusted(payload: bytes | bytearray | memoryview) -> HostFrame:
    """Read one payload from the host.

    Raises: BadHostFrame for anything that is not one of the seven frames a host may send.
    """
    try:
        raw: object = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise BadHostFrame("frame is not UTF-8 JSON") from None
    if not isinstance(raw, dict):
        raise BadHostFrame("frame is not a JSON object")
    frame = cast("dict[str, object]", raw)
    kind = frame.get("type")
    parse = _PARSERS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        raise BadHostFrame("frame has no type that a host may send")
    return parse(frame)


def _text(frame: dict[str, object], name: str) -> str:
    value = frame.get(name)
    if not isinstance(value, str):
        raise BadHostFrame(f"`{name}` is not text")
    return value


def _whole(frame: dict[str, object], name: str) -> int:
    value = frame.get(name)
    if type(value) is not int:  # bool is an int too
        raise BadHostFrame(f"`{name}` is not a whole number")
    return value


def _object(frame: dict[str, object], name: str) -> dict[str, object]:
    value = frame.get(name)
    if not isinstance(value, dict):
        raise BadHostFrame(f"`{name}` is not an object")
    return cast("dict[str, object]", value)


def _maybe_text(frame: dict[str, object], name: str) -> str | None:
    return None if frame.get(name) is None else _text(frame, name)


def _welcome(frame: dict[str, object]) -> Welcome:
    host = _object(frame, "host")
    extension: ExtensionInfo | None = None
    if frame.get("extension") is not None:
        raw = _object(frame, "extension")
        extension = ExtensionInfo(build=_text(raw, "build"), id=_text(raw, "id"), profile=_text(raw, "profile"))
    return Welcome(
        v=_whole(frame, "v"),
        host_build=_text(host, "build"),
        host_pid=_whole(host, "pid"),
        extension=extension,
        account=_maybe_text(frame, "account"),
    )


def _milliseconds(raw: object) -> dict[str, float]:
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise BadHostFrame("`hops` is not an object")
    hops = cast("dict[str, object]", raw)
    for ms in hops.values():
        if type(ms) is not float and type(ms) is not int:
            raise BadHostFrame("`hops` holds something that is not a number")
    return cast("dict[str, float]", hops)


def _wire_error(frame: dict[str, object]) -> WireError:
    raw = _object(frame, "error")
    return WireError(
        code=_text(raw, "code"),
        message=_text(raw, "message"),
        detail={} if raw.get("detail") is None else _object(raw, "detail"),
        started=raw.get("started") is not False,
    )


def _result(frame: dict[str, object]) -> Result:
    call_id, hops = _whole(frame, "id"), _milliseconds(frame.get("hops"))
    ok = frame.get("ok")
    if ok is True:
        return Result(call_id, frame.get("value"), None, hops)
    if ok is False:
        return Result(call_id, None, _wire_error(frame), hops)
    raise BadHostFrame("`ok` is not a truth value")


def _chunk(frame: dict[str, object]) -> Chunk:
    return Chunk(_whole(frame, "id"), _whole(frame, "seq"), _text(frame, "data"))


def _event(frame: dict[str, object]) -> Event:
    return Event(_text(frame, "name"), frame.get("detail"))


def _ping(frame: dict[str, object]) -> Ping:
    return Ping(frame.get("t"))


def _pong(frame: dict[str, object]) -> Pong:
    seen = frame.get("worker_last_seen_ms")
    return Pong(float(seen) if isinstance(seen, int | float) else None)


def _protocol_error(frame: dict[str, object]) -> ProtocolError:
    return ProtocolError(_text(frame, "code"), _text(frame, "message"))


# Invariant: the keys are exactly `native_host.protocol.HOST_TO_BROKER` (a test compares them).
_PARSERS: dict[str, Callable[[dict[str, object]], HostFrame]] = {
    "welcome": _welcome,
    "result": _result,
    "chunk": _chunk,
    "event": _event,
    "ping": _ping,
    "pong": _pong,
    "error": _protocol_error,
}


def encode_hello(client_name: str, client_version: str, pid: int) -> bytes:
    """Build the first frame of a connection. The client is the program that the agent runs, for the host's log.

    That program names itself, so its words are cut to what the host takes, and made encodable.
    """
    client = {"name": _short_text(client_name), "version": _short_text(client_version)}
    return orjson.dumps({"type": "hello", "v_min": V_MIN, "v_max": V_MAX, "build": BUILD, "client": client, "pid": pid})


def _short_text(text: str) -> str:
    return text[:200].encode(errors="replace").decode()


def encode_call(
    call_id: int,
    op: str,
    params: dict[str, object],
    *,
    notebook: str | None,
    account: str,
    not_after_ms: int,
    traceparent: str,
    tool: str = "",
) -> bytes:
    """Build a call frame. `params` is the op's own object; `tool` is what the person is shown of it (ADR-047).

    `not_after_ms` is in epoch milliseconds: the page starts no request after it.

    Raises: TypeError when `params` is not JSON (our mistake, hence not a wire error).
    """
    return orjson.dumps(
        {
            "type": "call",
            "id": call_id,
            "op": op,
            "params": params,
            "notebook": notebook,
            "account": account,
            "not_after_ms": not_after_ms,
            "trace": {"traceparent": traceparent, "tool": tool} if tool else {"traceparent": traceparent},
        }
    )


def encode_cancel(call_id: int, reason: str) -> bytes:
    return orjson.dumps({"type": "cancel", "id": call_id, "reason": reason})


def encode_ping(t_ms: int) -> bytes:
    return orjson.dumps({"type": "ping", "t": t_ms})


def encode_pong(t: object) -> bytes:
    return orjson.dumps({"type": "pong", "t": t})


def encode_protocol_error(code: str, message: str) -> bytes:
    return orjson.dumps({"type": "error", "code": code, "message": message})
