"""The JSON of the service's wire: what it may hold, and how the service itself writes it as text. Pure."""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# What the recordings escape inside a result's JSON text. They leave the apostrophe alone ("We'd" in `hizoJc`), although
# wire reference §0 lists it. Lone surrogates cannot be UTF-8, so they have to travel as an escape.
_ESCAPED: Final = re.compile("[<>&=\u2028\u2029\ud800-\udfff]")


def compact(value: Json) -> str:
    """Write JSON without spaces, other scripts and emoji raw (no escaping beyond what JSON needs)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def result_text(value: Json) -> str:
    r"""Write a result the way it stands inside a ``wrb.fr`` row: ``< > & =`` as ``\u003c`` and so on."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", compact(value))


def utf16_length(text: str) -> int:
    """Count UTF-16 code units, the unit of every length and offset on this wire."""
    return len(text) + sum(char > "\uffff" for char in text)
