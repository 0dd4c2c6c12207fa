"""Whatever bytes come, a frame decoder raises nothing but `BadFrame`, gives the same frames however they were cut and
by whichever of its two ways they were fed, and never holds more memory than twice what arrived and one step.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from fuzz.corpus import case_inputs
from fuzz.cuts import pieces_of
from native_host.framing import (
    BROKER_HEADER,
    CHROME_HEADER,
    FIRST_BODY_BYTES,
    BadFrame,
    FrameDecoder,
    encode_frame,
)
from native_host.protocol import MAX_BROKER_FRAME_BYTES

Outcome = tuple[list[bytes], bool]


def one_input(data: bytes) -> None:
    for header in (BROKER_HEADER, CHROME_HEADER):
        whole = _fed(header, [data])
        assert _fed(header, pieces_of(data)) == whole
        assert _read_in_place(header, pieces_of(data, salt=17)) == whole


def _fed(header: struct.Struct, pieces: list[bytes]) -> Outcome:
    decoder = FrameDecoder(header, MAX_BROKER_FRAME_BYTES)
    frames: list[bytes] = []
    for piece in pieces:
        decoder.feed_untrusted(piece)
        if not _drain(decoder, frames):
            return frames, False
    return frames, True


def _read_in_place(header: struct.Struct, pieces: list[bytes]) -> Outcome:
    decoder = FrameDecoder(header, MAX_BROKER_FRAME_BYTES)
    frames: list[bytes] = []
    arrived = 0
    for piece in pieces:
        rest = piece
        while rest:
            space = decoder.get_buffer()
            assert len(space) <= 2 * max(arrived, FIRST_BODY_BYTES)
            taken = rest[: len(space)]
            space[: len(taken)] = taken
            decoder.buffer_updated(len(taken))
            arrived += len(taken)
            rest = rest[len(taken) :]
            if not _drain(decoder, frames):
                return frames, False
    return frames, True


def _drain(decoder: FrameDecoder, frames: list[bytes]) -> bool:
    try:
        while (frame := decoder.maybe_next_frame()) is not None:
            frames.append(bytes(frame))
    except BadFrame:
        return False
    return True


def seeds() -> Iterator[bytes]:
    yield from case_inputs("C-030-headers.hex")
    for header in (BROKER_HEADER, CHROME_HEADER):
        one = encode_frame(header, b'{"type":"ping","t":1}', MAX_BROKER_FRAME_BYTES)
        yield one * 3
        yield one + header.pack(100_000) + bytes(100_000) + one
        yield header.pack(MAX_BROKER_FRAME_BYTES) + b"{"
        yield header.pack(MAX_BROKER_FRAME_BYTES + 1)
