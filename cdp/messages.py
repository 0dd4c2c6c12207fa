"""CDP messages as values: encode a command, parse what the browser sends. Pure: no I/O, no clock, no trio.

Every message is one JSON object. Sessions are "flattened": a command or message of an attached target carries a
top-level ``sessionId`` instead of being wrapped in ``Target.sendMessageToTarget``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

import attrs
import orjson

from cdp.errors import BadMessage

JsonObject: TypeAlias = dict[str, object]


@attrs.frozen
class Response:
    """``{"id", "result"}``: the command with this id succeeded."""

    id: int
    result: JsonObject
    session_id: str | None = None


@attrs.frozen
class ErrorResponse:
    """``{"id", "error": {"code", "message", "data"?}}``. `id` is None when the browser could not read our command."""

    id: int | None
    code: int
    message: str
    data: str | None = None
    session_id: str | None = None


@attrs.frozen
class Event:
    """``{"method", "params"}``: something happened in the browser, or in the target of `session_id`."""

    method: str
    params: JsonObject
    session_id: str | None = None


_NAME_START: Final = len('{"method":"')

Message: TypeAlias = Response | ErrorResponse | Event


def encode_command(
    call_id: int, method: str, params: Mapping[str, object] | None = None, session_id: str | None = None
) -> bytes:
    """Return the text of one command, in UTF-8 without a zero byte.

    Raises:
        TypeError: `params` holds something JSON has no word for.
    """
    command: JsonObject = {"id": call_id, "method": method, "params": dict(params or {})}
    if session_id is not None:
        command["sessionId"] = session_id
    try:
        return orjson.dumps(command)
    except TypeError:
        # orjson refuses lone surrogates and integers beyond 64 bits; both are legal inside JSON text as escapes/digits.
        return json.dumps(command, separators=(",", ":")).encode()


def maybe_event_name(text: str | bytes) -> str | None:
    """Return the method of an event without reading the rest of it; None for everything that does not begin as one.

    Chrome writes the method first, in plain ASCII. Another peer may not; then the event is parsed whole, which costs
    time only.
    """
    name = _event_name_of_bytes(text) if isinstance(text, bytes) else _event_name_of_text(text)
    return name if name is not None and name.isascii() and "\\" not in name else None


def _event_name_of_bytes(text: bytes) -> str | None:
    if not text.startswith(b'{"method":"'):
        return None
    end = text.find(b'"', _NAME_START)
    return text[_NAME_START:end].decode("ascii", "replace") if end > 0 else None


def _event_name_of_text(text: str) -> str | None:
    if not text.startswith('{"method":"'):
        return None
    end = text.find('"', _NAME_START)
    return text[_NAME_START:end] if end > 0 else None


def parse_cdp_message_untrusted(text: str | bytes) -> Message:
    """Return the message in `text`.

    Raises:
        BadMessage: it is no JSON object, or no response, error or event. Nothing else is raised.
    """
    message = _object(_load(text), "message")
    session_id = _maybe_text(message, "sessionId")
    if "method" in message:
        return Event(text_field(message, "method"), _object(message.get("params", {}), "params"), session_id)
    if "error" in message:
        error = _object(message["error"], "error")
        call_id = message.get("id")
        if call_id is not None and not _is_int(call_id):
            raise BadMessage(f"id: expected an integer or null, saw {type(call_id).__name__}")
        return ErrorResponse(
            cast("int | None", call_id),
            int_field(error, "code"),
            text_field(error, "message"),
            _maybe_text(error, "data"),
            session_id,
        )
    if "id" in message:
        return Response(int_field(message, "id"), object_field(message, "result"), session_id)
    raise BadMessage(f"expected id or method, saw the keys {sorted(message)[:8]}")


def text_field(value: Mapping[str, object], key: str) -> str:
    """Return a string member. Raises `BadMessage` when it is absent or of another type."""
    found = value.get(key)
    if not isinstance(found, str):
        raise BadMessage(f"{key}: expected text, saw {type(found).__name__}")
    return found


def int_field(value: Mapping[str, object], key: str) -> int:
    """Return an integer member. Raises `BadMessage` when it is absent or of another type."""
    found = value.get(key)
    if not _is_int(found):
        raise BadMessage(f"{key}: expected an integer, saw {type(found).__name__}")
    return cast("int", found)


def object_field(value: Mapping[str, object], key: str) -> JsonObject:
    """Return an object member. Raises `BadMessage` when it is absent or of another type."""
    return _object(value.get(key), key)


def list_field(value: Mapping[str, object], key: str) -> list[object]:
    """Return a list member. Raises `BadMessage` when it is absent or of another type."""
    found = value.get(key)
    if not isinstance(found, list):
        raise BadMessage(f"{key}: expected a list, saw {type(found).__name__}")
    return cast("list[object]", found)


def _load(text: str | bytes) -> object:
    try:
        return cast("object", orjson.loads(text))
    except orjson.JSONDecodeError:
        pass
    # Chrome escapes lone surrogates of JavaScript strings as they are ("\ud800"), which orjson refuses.
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"not JSON: {error}") from None


def _object(value: object, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise BadMessage(f"{name}: expected an object, saw {type(value).__name__}")
    return cast("JsonObject", value)


def _maybe_text(value: Mapping[str, object], key: str) -> str | None:
    return None if value.get(key) is None else text_field(value, key)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
