"""Read JSON that the service wrote: fast, without NaN, and always valid Unicode afterwards.

Pure. orjson reads nearly everything; what it refuses is read once more by the standard library, because JSON allows an
escaped half of a surrogate pair (C-071) and the service may send one. Invariant: every `str` that leaves this module
can be encoded as UTF-8, and its length in code points and in UTF-16 units is the length the service counted.
"""

from __future__ import annotations

import json
import math
import re
from typing import cast

import orjson

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"
"""One code point and one UTF-16 unit, like the half pair it stands for, so no offset moves."""


class BadJson(ValueError):
    """The text is not JSON, holds a number that is none, or is nested too deeply."""


def clean_text(text: str) -> str:
    """Replace each unpaired surrogate by U+FFFD; the length stays the same in both units."""
    if text.isascii():
        return text
    return LONE_SURROGATE.sub(REPLACEMENT, text)


def decode_json_untrusted(text: str) -> object:
    """Return the value of one JSON text.

    Raises:
        BadJson: anything else than one finite, reasonably nested JSON value.
    """
    try:
        return cast("object", orjson.loads(text))
    except orjson.JSONDecodeError as refused:
        # Plain garbage is refused a second time below, which costs nothing that matters.
        if "\\u" not in text and LONE_SURROGATE.search(text) is None:
            raise BadJson(f"not JSON: {refused.msg}") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_whole)
        return _clean(value)
    except (ValueError, RecursionError) as error:
        raise BadJson("not JSON") from error


def _refuse_constant(name: str) -> object:
    raise BadJson(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BadJson("a number is out of range")
    return number


def _whole(digits: str) -> int | float:
    # orjson reads integers beyond 64 bits as floats; the slow way must not differ.
    return int(digits) if len(digits) < 20 else _finite_float(digits)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in cast("dict[str, object]", value).items()}
    return value
