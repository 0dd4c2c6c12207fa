"""Checks of RPC parameters: each passes or ends the call with status 3, as the service does. Pure."""

from __future__ import annotations

from typing import Final, TypeAlias

from harness.emulator.wire_json import Json

INVALID_ARGUMENT: Final = 3
NOT_FOUND: Final = 5
PERMISSION_DENIED: Final = 7
CLIENT_BLOCK: Final[list[Json]] = [1, *[None] * 9, [1]]
OPTIONS_OLD: Final[list[Json]] = [2]
OPTIONS_NEW: Final[list[Json]] = [2, None, None, CLIENT_BLOCK]

Params: TypeAlias = list[Json]


class Denied(Exception):
    """The call is refused by a row; the number is its status: 3 bad parameters, 5 not there, 7 not this account's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def expect(condition: bool) -> None:
    """Go on, or refuse the call as one that the service's own page would not make."""
    if not condition:
        raise Denied(INVALID_ARGUMENT)


def is_options(value: Json) -> bool:
    return value in (OPTIONS_OLD, OPTIONS_NEW)


def is_options_or_empty(value: Json) -> bool:
    return value == [] or is_options(value)


def text(value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise Denied(INVALID_ARGUMENT)
    return value


def any_text(value: Json) -> str:
    if not isinstance(value, str):
        raise Denied(INVALID_ARGUMENT)
    return value


def rows(value: Json) -> list[Json]:
    """Return a list that has at least one item."""
    if not isinstance(value, list) or not value:
        raise Denied(INVALID_ARGUMENT)
    return value


def only(value: Json) -> Json:
    if not isinstance(value, list) or len(value) != 1:
        raise Denied(INVALID_ARGUMENT)
    return value[0]


def only_text(value: Json) -> str:
    return text(only(value))


def count(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1000:
        raise Denied(INVALID_ARGUMENT)
    return value


def cursor(value: Json) -> int:
    kind, _, number = text(value).partition(":")
    expect(kind == "turns" and number.isascii() and number.isdigit())
    return int(number)
