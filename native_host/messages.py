"""JSON messages at the border: what comes from a peer is checked here, once, against the table in `protocol`.

A broker's frame is never passed on as it came. It is read, checked, and written anew with only the fields of the table
and the connection number that the host chose, because one text that Chrome's reader refuses (a lone surrogate, NaN, too
many levels) would close the port for every broker. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from native_host.protocol import MAX_JSON_DEPTH, MESSAGES

Message = dict[str, object]

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The worker is JavaScript: larger integers would come back changed."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


class BadMessage(ValueError):
    """The peer sent something that is not a message of the table."""


def parse_untrusted(payload: bytes | bytearray) -> Message:
    """Return the JSON object in `payload`.

    Raises:
        BadMessage: it is not UTF-8, not JSON, not an object, or nested deeper than Chrome reads.
    """
    try:
        value: object = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"not UTF-8 JSON: {_reason(error)}") from error
    if not isinstance(value, dict):
        raise BadMessage(f"a message is a JSON object, not {type(value).__name__}")
    # Each level needs an opening bracket, so few brackets prove a flat message without a walk.
    if payload.count(b"{") + payload.count(b"[") > MAX_JSON_DEPTH:
        _check_depth(cast(object, value))
    return cast(Message, value)


def encode(message: Mapping[str, object]) -> bytes:
    """Return `message` as compact UTF-8 JSON. Lone surrogates, which UTF-8 cannot carry, become U+FFFD.

    Raises:
        BadMessage: it holds NaN or an infinity, which JSON cannot carry.
    """
    try:
        text = _ENCODER.encode(message)
    except ValueError as error:
        raise BadMessage(f"not JSON: {_reason(error)}") from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


def message_type(message: Mapping[str, object], known: frozenset[str]) -> str:
    """Return the type of `message`.

    Raises:
        BadMessage: it has none, or one that this leg does not carry in this direction.
    """
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in known:
        raise BadMessage(f"type {kind!r:.80} is none of {', '.join(sorted(known))}")
    return kind


def checked_fields(kind: str, message: Mapping[str, object]) -> Message:
    """Return exactly the fields that the table gives to `kind`; others, `conn` among them, are left out.

    Raises:
        BadMessage: a field is missing or has the wrong JSON type; the text names it.
    """
    fields: Message = {}
    for name, is_required, is_good in _TABLE[kind]:
        if name not in message:
            if is_required:
                raise BadMessage(f"{kind}: field {name!r} is missing")
            continue
        value = message[name]
        if is_good is not None and not is_good(value):
            raise BadMessage(f"{kind}: field {name!r} has the wrong type or value ({type(value).__name__})")
        fields[name] = value
    return fields


def is_count(value: object) -> bool:
    """Return whether `value` is an integer from 0 that JavaScript keeps exactly (a JSON `true` is none)."""
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER


def _is_short_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 4096


def _is_short_text_or_null(value: object) -> bool:
    return value is None or _is_short_text(value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float


def _is_client(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    client = cast(Message, value)
    return _is_short_text(client.get("name")) and _is_short_text(client.get("version"))


def _is_beat(value: object) -> bool:
    return value is None or _is_number(value) or _is_short_text(value)


_FIELDS: Final[dict[str, Callable[[object], bool]]] = {
    "v_min": is_count,
    "v_max": is_count,
    "build": _is_short_text,
    "client": _is_client,
    "pid": is_count,
    "extension_id": _is_short_text,
    "profile": _is_short_text,
    "id": is_count,
    "op": _is_short_text,
    "params": _is_object,
    "notebook": _is_short_text_or_null,
    "account": _is_short_text_or_null,
    "not_after_ms": _is_number,
    "trace": _is_object,
    "reason": _is_short_text,
    "t": _is_beat,
    "code": _is_short_text,
    "message": _is_short_text,
}
"""Fields that the host reads, or that end up in the worker's small decoders. Those not listed may hold any JSON."""

_TABLE: Final = {
    kind: tuple((name, name in required, _FIELDS.get(name)) for name in required + optional)
    for kind, (required, optional) in MESSAGES.items()
}
"""kind -> (name, is_required, check or None) of each field; made once, because every call goes through it."""


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [child for container in level for child in _children(container) if isinstance(child, (dict, list))]
        if not level:
            return
    raise BadMessage(f"nested deeper than {MAX_JSON_DEPTH} levels, which Chrome would refuse")


def _children(container: object) -> Iterable[object]:
    return cast(Message, container).values() if isinstance(container, dict) else cast("list[object]", container)


def _reason(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__
