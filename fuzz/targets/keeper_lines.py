"""Whatever line reaches the browser keeper, it is one JSON object or `BadLine`; what we write is read as it was."""

from __future__ import annotations

from collections.abc import Iterator

from native_host.line_json import MAX_LINE_BYTES, BadLine, decode_line_untrusted, encode_line


def one_input(data: bytes) -> None:
    try:
        message = decode_line_untrusted(data)
    except BadLine as error:
        str(error).encode()
        return
    assert len(data) <= MAX_LINE_BYTES
    again = decode_line_untrusted(encode_line(message))
    assert repr(again) == repr(message)  # NaN is not equal to itself


def seeds() -> Iterator[bytes]:
    yield encode_line({"op": "status"})
    yield encode_line({"op": "allow", "account": "ada@example.com", "notebooks": "*"})
    yield b'{"op":"status"}'
    yield b'[1]\n{"a":NaN}\n'
    yield b"[" * 5000 + b"\n"
