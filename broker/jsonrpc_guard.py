"""Read one line as one JSON-RPC message, or say which error answers it. Pure.

The SDK's own transport drops what it cannot read, and the caller then waits for its time-out. Here every frame that is
not a well-formed notification gets an answer, with the id wherever one can be read (JSON-RPC 2.0, section 5; C-010).
"""

from __future__ import annotations

import json
from typing import cast

from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)

RequestId = str | int


class BadFrame(ValueError):
    """The line is no message we can serve; `response` is what the peer gets instead."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request_id = request_id

    @property
    def response(self) -> JSONRPCError:
        error = ErrorData(code=self.code, message=self.message)
        return JSONRPCError(jsonrpc="2.0", id=self.request_id, error=error)


def parse_message_untrusted(line: bytes) -> JSONRPCMessage:
    """Return the request, notification or response in `line`.

    Raises:
        BadFrame: for everything else. Batches are refused: no revision we offer after 2025-03-26 has them.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        message = None
    # The SDK's model reads a request whose id is null or a fraction as a notification, and nobody would answer it.
    if message is not None and not (isinstance(message, JSONRPCNotification) and b'"id"' in line):
        return message
    decoded = _decode(line)
    if not isinstance(decoded, dict):
        what = "batches are not supported" if isinstance(decoded, list) else "a message is a JSON object"
        raise BadFrame(INVALID_REQUEST, f"Invalid request: {what}")
    fields = cast("dict[str, object]", decoded)
    if message is not None and "id" not in fields:
        return message  # a notification that merely mentions "id" further inside
    raise _diagnose(fields)


def _decode(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise BadFrame(PARSE_ERROR, "Parse error: the line is not UTF-8 JSON") from None


def _diagnose(fields: dict[str, object]) -> BadFrame:
    """Name the first rule of JSON-RPC that the object breaks."""
    request_id = _usable_id(fields.get("id"))
    if fields.get("jsonrpc") != "2.0":
        return BadFrame(INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0"', request_id)
    if "id" in fields and request_id is None:
        return BadFrame(INVALID_REQUEST, "Invalid request: an id is a string or a whole number")
    if not isinstance(fields.get("method"), str):
        return BadFrame(INVALID_REQUEST, 'Invalid request: "method" is missing', request_id)
    if not isinstance(fields.get("params", {}), dict):
        return BadFrame(INVALID_PARAMS, 'Invalid params: "params" must be an object', request_id)
    return BadFrame(
        INVALID_REQUEST, "Invalid request: a byte order mark, or text that is not valid Unicode", request_id
    )


def _usable_id(value: object) -> RequestId | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # a lone surrogate could not be written back
            return None
    return value


_LINE_SEPARATORS = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)


def encode_message(message: JSONRPCMessage) -> bytes:
    """Return `message` as one line of UTF-8, without the line feed.

    Three characters that some clients' readers take for a line end leave only in escaped form (C-007). They can stand
    nowhere in JSON but inside strings, and their UTF-8 bytes occur in no other character.

    Raises:
        ValueError: some text holds a lone surrogate, which UTF-8 cannot carry.
    """
    line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    for raw, escaped in _LINE_SEPARATORS:
        line = line.replace(raw, escaped)
    return line
