"""One JSON object per line: how commands and brokers ask the browser keeper. Pure; both ends use it.

A connection carries one request and one answer.
"""

from __future__ import annotations

import json
from typing import Final, cast

MAX_LINE_BYTES: Final = 256 * 1024
"""An allowlist of some six thousand notebooks."""


class BadLine(ValueError):
    """The bytes are no single line with a JSON object."""


def encode_line(message: dict[str, object]) -> bytes:
    """Return `message` as one line."""
    return json.dumps(message).encode() + b"\n"


def decode_line_untrusted(line: bytes) -> dict[str, object]:
    """Return the object of a line that anybody may have written.

    Raises:
        BadLine: too long, not whole, no JSON, or no object.
    """
    if len(line) > MAX_LINE_BYTES or not line.endswith(b"\n"):
        raise BadLine(f"expected one line of at most {MAX_LINE_BYTES} bytes")
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        raise BadLine("the line is no JSON text") from None
    if not isinstance(message, dict):
        raise BadLine("the line is no JSON object")
    return cast("dict[str, object]", message)
