"""Checks of fault parameters, as attrs validators that say what a value may be. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import attrs

from harness.emulator.wire_json import Json

Check: TypeAlias = Callable[[object, "attrs.Attribute[Any]", object], None]


class BadFault(ValueError):
    """A fault description that cannot be meant; the text says which field and what it may be."""


def number(minimum: float, maximum: float) -> Check:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise BadFault(f"{attribute.name} must be a number from {minimum} to {maximum}, not {value!r}")

    return check


def integer(minimum: int, maximum: int) -> Check:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise BadFault(f"{attribute.name} must be a whole number from {minimum} to {maximum}, not {value!r}")

    return check


def one_of(*choices: Json) -> Check:
    def check(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
            raise BadFault(f"{attribute.name} must be one of {list(choices)}, not {value!r}")

    return check


def text(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise BadFault(f"{attribute.name} must be a text, not {value!r}")


def texts_by_name(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    fields = cast("dict[object, object]", value) if isinstance(value, dict) else {None: None}
    if not all(isinstance(each, str) for each in (*fields, *fields.values())):
        raise BadFault(f"{attribute.name} must be an object of texts, not {value!r}")


def slot_path(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    steps: list[object] = list(cast("list[object]", value)) if isinstance(value, list) else []
    if not steps or not all(isinstance(step, int | str) and not isinstance(step, bool) for step in steps):
        raise BadFault(f"{attribute.name} must be a list of indexes (of keys for `page`), not {value!r}")


def states(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    items: list[object] = list(cast("list[object]", value)) if isinstance(value, list) else []
    good = [
        item is None or (isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= 99) for item in items
    ]
    if not items or not all(good):
        raise BadFault(f"{attribute.name} must be a list of numbers from 0 to 99, null for no row, not {value!r}")


def number_or_text(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadFault(f"{attribute.name} must be a whole number or a text, not {value!r}")
