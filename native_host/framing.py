"""Length-prefixed frames: 4 bytes of payload length, then one UTF-8 JSON object.

Pure: bytes in, bytes out. The same code serves both legs, which differ in the byte order of the length only. A length
is judged before a single byte of its body is kept, so a hostile or misread header can neither reserve memory nor make
a reader wait for bytes that will never come.
"""

from __future__ import annotations

import struct
from typing import Final

BROKER_HEADER: Final = struct.Struct(">I")
"""Broker <-> native host: big-endian, whatever the machine."""

CHROME_HEADER: Final = struct.Struct("=I")
"""Native host <-> Chrome: this machine's byte order (Chrome's rule)."""

READ_BYTES: Final = 256 * 1024
"""How much one read asks for while no large body is under way."""

LARGE_BODY_BYTES: Final = 64 * 1024
"""A body longer than this gets a buffer of its own that reads fill in place, instead of being copied twice."""


class BadFrame(ValueError):
    """The peer sent a length that no frame may have. The connection cannot be read any further."""


FIRST_BODY_BYTES: Final = 1024 * 1024
"""A large body's buffer starts with this much and doubles as bytes arrive: a header alone reserves no 64 MiB."""


class _LargeBody:
    """A body under way. Its buffer is never more than twice as long as what has arrived, plus the first step."""

    __slots__ = ("buffer", "filled", "length")

    def __init__(self, length: int, here: bytes | bytearray) -> None:
        self.length = length
        self.filled = len(here)
        # Invariant: filled <= len(buffer) <= length.
        self.buffer = bytearray(here)
        self._grow_to(max(FIRST_BODY_BYTES, self.filled))

    @property
    def is_finished(self) -> bool:
        return self.filled == self.length

    def free_space(self) -> memoryview:
        if self.filled == len(self.buffer):
            self._grow_to(2 * self.filled)
        return memoryview(self.buffer)[self.filled :]

    def _grow_to(self, size_bytes: int) -> None:
        # A new buffer, as the old one cannot change its size while a view of it is held anywhere.
        grown = bytearray(min(size_bytes, self.length))
        grown[: self.filled] = self.buffer
        self.buffer = grown


class FrameDecoder:
    """Cuts one direction of a stream into payloads.

    Feed it with `feed_untrusted`, or, to save a copy, read into `get_buffer` and report with `buffer_updated`. Take
    payloads with `maybe_next_frame` until it returns None *before* reading again.
    """

    def __init__(self, header: struct.Struct, max_payload_bytes: int) -> None:
        self._header = header
        self._max_payload_bytes = max_payload_bytes
        # Invariant: the bytes from `_start` on begin at a frame boundary; they come after `_body` if there is one.
        self._buffer = bytearray()
        self._start = 0
        self._body: _LargeBody | None = None
        self._scratch: bytearray | None = None

    def __repr__(self) -> str:
        if self._body is not None:
            return f"<FrameDecoder {self._body.filled} of {self._body.length} body bytes>"
        return f"<FrameDecoder {len(self._buffer) - self._start} bytes>"

    @property
    def is_at_boundary(self) -> bool:
        """True when no part of a frame is held: an end of file here is a clean one."""
        return self._body is None and len(self._buffer) == self._start

    def feed_untrusted(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the stream, cut anywhere."""
        rest = memoryview(data)
        while rest and self._body is not None and not self._body.is_finished:
            space = self._body.free_space()
            taken = rest[: len(space)]
            space[: len(taken)] = taken
            self._body.filled += len(taken)
            rest = rest[len(taken) :]
        self._buffer += rest

    def get_buffer(self) -> memoryview:
        """Return where the next read should go: the free part of a large body, or a scratch buffer."""
        if self._body is not None and not self._body.is_finished:
            return self._body.free_space()
        if self._scratch is None:
            self._scratch = bytearray(READ_BYTES)
        return memoryview(self._scratch)

    def buffer_updated(self, size_bytes: int) -> None:
        """Say that the first `size_bytes` of the buffer last handed out have been filled."""
        if self._body is not None and not self._body.is_finished:
            self._body.filled += size_bytes
        else:
            assert self._scratch is not None, "buffer_updated without get_buffer"
            self._buffer += memoryview(self._scratch)[:size_bytes]

    def maybe_next_frame(self) -> bytearray | None:
        """Return the next whole payload, or None when more bytes are needed. It is the caller's own, to change or keep.

        Raises:
            BadFrame: the length is zero or above the limit; raised as soon as the four bytes are here.
        """
        if self._body is not None:
            return self._maybe_finished_body()
        body_start = self._start + self._header.size
        if len(self._buffer) < body_start:
            self._compact()
            return None
        (length,) = self._header.unpack_from(self._buffer, self._start)
        self._check(length)
        end = body_start + length
        if len(self._buffer) >= end:
            payload = self._buffer[body_start:end]
            self._start = end
            return payload
        if length > LARGE_BODY_BYTES:
            self._body = _LargeBody(length, self._buffer[body_start:])
            self._start = len(self._buffer)
        self._compact()
        return None

    def _maybe_finished_body(self) -> bytearray | None:
        body = self._body
        if body is None or not body.is_finished:
            return None
        self._body = None
        return body.buffer

    def _compact(self) -> None:
        if self._start:
            del self._buffer[: self._start]
            self._start = 0

    def _check(self, length: int) -> None:
        if length == 0:
            raise BadFrame("frame of 0 bytes; a payload is one JSON object")
        if length > self._max_payload_bytes:
            raise BadFrame(
                f"frame of {length} bytes, limit {self._max_payload_bytes}; "
                f"is the length in the byte order that the leg wants ({self._header.format})?"
            )


def encode_header(header: struct.Struct, length: int, max_payload_bytes: int) -> bytes:
    """Return the four bytes that go before a payload of `length` bytes.

    Raises:
        BadFrame: the length is one that the peer's decoder would refuse.
    """
    if not 0 < length <= max_payload_bytes:
        raise BadFrame(f"refusing to send a frame of {length} bytes, limit {max_payload_bytes}")
    return header.pack(length)


def encode_frame(header: struct.Struct, payload: bytes | bytearray, max_payload_bytes: int) -> bytes:
    """Return header and payload as one piece.

    Raises:
        BadFrame: the payload is one that the peer's decoder would refuse.
    """
    return encode_header(header, len(payload), max_payload_bytes) + payload
