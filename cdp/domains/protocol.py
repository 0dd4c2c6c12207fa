"""What a typed command, result and event is: an attrs class whose fields bear the protocol's own names, and its codec.

Encoding leaves out what is None. Decoding is strict: a missing field, or a value of another type, is a `BadMessage`
with its path; fields that the class does not name are ignored, because newer browsers add some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import ClassVar, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from cdp.errors import BadMessage
from cdp.messages import JsonObject

R = TypeVar("R")
T = TypeVar("T")


@attrs.frozen
class Nothing:
    """The result of a command that returns nothing."""


class Command(Generic[R]):
    """A command whose answer is an `R`. Subclasses are frozen attrs classes that state `method` and `result`."""

    method: ClassVar[str]
    result: ClassVar[type[object]] = Nothing


class EventParams:
    """What an event carries. Subclasses are frozen attrs classes that state `method`."""

    method: ClassVar[str]


def encode_params(command: Command[R]) -> JsonObject:
    """Return the params of a command."""
    return _encode_object(command)


def decode_result_untrusted(command: Command[R], result: Mapping[str, object]) -> R:
    """Return the result of this command.

    Raises:
        BadMessage: with the command and the path of what is wrong.
    """
    return cast("R", decode_untrusted(command.result, result, command.method))


def decode_untrusted(kind: type[T], value: object, path: str) -> T:
    """Return `value` as an instance of the attrs class `kind`.

    Raises:
        BadMessage: with the path of what is wrong.
    """
    if not isinstance(value, dict):
        raise BadMessage(f"{path}: expected an object, saw {type(value).__name__}")
    members = cast("JsonObject", value)
    found: dict[str, object] = {}
    for name, decode, is_required in _fields(kind):
        if name in members:
            found[name] = decode(members[name], f"{path}.{name}")
        elif is_required:
            raise BadMessage(f"{path}.{name}: missing; saw the keys {sorted(members)[:8]}")
    return kind(**found)


_Decoder = Callable[[object, str], object]


@cache
def _fields(kind: type[object]) -> tuple[tuple[str, _Decoder, bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (field.name, _decoder(hints[field.name]), field.default is attrs.NOTHING)
        for field in attrs.fields(cast("type[attrs.AttrsInstance]", kind))
    )


def _decoder(hint: object) -> _Decoder:
    """Return what decodes a field of this type: the few kinds of types that the protocol has."""
    origin = get_origin(hint)
    if hint is object:
        return lambda value, path: value
    if origin is tuple:
        return _list_decoder(_decoder(get_args(hint)[0]))
    if origin in (Union, UnionType):
        (inner,) = [choice for choice in get_args(hint) if choice is not NoneType]
        decode = _decoder(inner)
        return lambda value, path: None if value is None else decode(value, path)
    if origin is dict or hint is dict:
        return _scalar_decoder("an object", dict)
    if origin is Literal:
        return _choice_decoder(get_args(hint))
    if isinstance(hint, type) and attrs.has(hint):
        return lambda value, path: decode_untrusted(cast("type[object]", hint), value, path)
    return _SCALARS[cast("type[object]", hint)]


def _scalar_decoder(name: str, *types: type) -> _Decoder:
    def decode(value: object, path: str) -> object:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise BadMessage(f"{path}: expected {name}, saw {type(value).__name__}")
        return value

    return decode


def _list_decoder(item: _Decoder) -> _Decoder:
    def decode(value: object, path: str) -> object:
        if not isinstance(value, list):
            raise BadMessage(f"{path}: expected a list, saw {type(value).__name__}")
        items = cast("list[object]", value)
        return tuple(item(member, f"{path}[{place}]") for place, member in enumerate(items))

    return decode


def _choice_decoder(choices: tuple[object, ...]) -> _Decoder:
    def decode(value: object, path: str) -> object:
        if value not in choices:
            raise BadMessage(f"{path}: expected one of {', '.join(map(str, choices))}, saw {value!r}"[:200])
        return value

    return decode


_SCALARS: dict[type[object], _Decoder] = {
    str: _scalar_decoder("text", str),
    bool: _scalar_decoder("true or false", bool),
    int: _scalar_decoder("an integer", int),
    float: _scalar_decoder("a number", int, float),
}


def _encode_object(value: object) -> JsonObject:
    fields = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
    members = ((field.name, getattr(value, field.name)) for field in fields)
    return {name: _encode(member) for name, member in members if member is not None}


def _encode(value: object) -> object:
    if attrs.has(type(value)):
        return _encode_object(value)
    if isinstance(value, tuple | list):
        return [_encode(item) for item in cast("tuple[object, ...]", value)]
    return value
