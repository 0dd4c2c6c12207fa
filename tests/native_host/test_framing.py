"""Framing read three ways (whole, byte by byte, with trailing bytes), then its laws."""

import itertools
import json
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_host.framing import (
    BROKER_HEADER,
    CHROME_HEADER,
    FIRST_BODY_BYTES,
    LARGE_BODY_BYTES,
    BadFrame,
    FrameDecoder,
    encode_frame,
    encode_header,
)
from native_host.protocol import MAX_BROKER_FRAME_BYTES, MAX_FROM_CHROME_BYTES
from tests.shared import case_input

both_headers = pytest.mark.parametrize("header", [BROKER_HEADER, CHROME_HEADER], ids=["broker", "chrome"])


def drain(decoder: FrameDecoder) -> list[bytes]:
    frames: list[bytes] = []
    while (frame := decoder.maybe_next_frame()) is not None:
        frames.append(bytes(frame))
    return frames


def decode_in_pieces(header: struct.Struct, stream: bytes, cuts: set[int], *, in_place: bool = False) -> list[bytes]:
    decoder = FrameDecoder(header, MAX_BROKER_FRAME_BYTES)
    frames: list[bytes] = []
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    for start, end in itertools.pairwise(edges):
        piece = stream[start:end]
        while piece and in_place:
            buffer = decoder.get_buffer()
            taken = piece[: len(buffer)]
            buffer[: len(taken)] = taken
            decoder.buffer_updated(len(taken))
            frames += drain(decoder)
            piece = piece[len(taken) :]
        if piece:
            decoder.feed_untrusted(piece)
            frames += drain(decoder)
    assert decoder.is_at_boundary
    return frames


@both_headers
@given(payloads=st.lists(st.binary(min_size=1, max_size=50)), cuts=st.sets(st.integers(1, 200)), in_place=st.booleans())
def test_c036_any_split_of_the_stream_gives_the_same_frames(
    header: struct.Struct, payloads: list[bytes], cuts: set[int], in_place: bool
) -> None:
    stream = b"".join(encode_frame(header, payload, 50) for payload in payloads)
    assert decode_in_pieces(header, stream, cuts, in_place=in_place) == payloads


@both_headers
@given(
    sizes=st.lists(st.sampled_from([1, LARGE_BODY_BYTES, LARGE_BODY_BYTES + 1, 2 * FIRST_BODY_BYTES + 1]), max_size=4),
    cuts=st.sets(st.integers(1, 8 * LARGE_BODY_BYTES), max_size=8),
    in_place=st.booleans(),
)
def test_any_split_of_large_bodies_gives_the_same_frames(
    header: struct.Struct, sizes: list[int], cuts: set[int], in_place: bool
) -> None:
    payloads = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    stream = b"".join(encode_frame(header, payload, MAX_BROKER_FRAME_BYTES) for payload in payloads)
    assert decode_in_pieces(header, stream, cuts, in_place=in_place) == payloads


@both_headers
def test_trailing_bytes_stay_for_the_next_frame(header: struct.Struct) -> None:
    decoder = FrameDecoder(header, 100)
    decoder.feed_untrusted(encode_frame(header, b"{}", 100) + header.pack(9) + b"{")
    assert drain(decoder) == [b"{}"]
    assert not decoder.is_at_boundary
    assert repr(decoder) == "<FrameDecoder 5 bytes>"


def test_a_good_header_alone_reserves_little() -> None:
    tracemalloc.start()
    try:
        decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
        decoder.feed_untrusted(BROKER_HEADER.pack(MAX_BROKER_FRAME_BYTES) + b"{")
        assert decoder.maybe_next_frame() is None
        assert repr(decoder) == "<FrameDecoder 1 of 67108864 body bytes>"
        assert tracemalloc.get_traced_memory()[1] < 4 * FIRST_BODY_BYTES
    finally:
        tracemalloc.stop()


@both_headers
@given(length=st.one_of(st.just(0), st.integers(101, 2**32 - 1)))
def test_a_bad_length_is_refused_before_its_body_arrives(header: struct.Struct, length: int) -> None:
    decoder = FrameDecoder(header, 100)
    decoder.feed_untrusted(header.pack(length))
    with pytest.raises(BadFrame):
        decoder.maybe_next_frame()


@given(data=st.binary(max_size=300))
def test_untrusted_bytes_raise_nothing_but_bad_frame(data: bytes) -> None:
    decoder = FrameDecoder(BROKER_HEADER, 100)
    decoder.feed_untrusted(data)
    try:
        drain(decoder)
    except BadFrame:
        return


def test_c030_lengths_in_the_other_byte_order_are_refused_without_a_large_allocation() -> None:
    good, swapped, longest, empty = (
        bytes.fromhex(line) for line in case_input("C-030-headers.hex").read_text().split()
    )
    assert decode_in_pieces(BROKER_HEADER, good, set()) == [b'{"t":"ping"}']
    tracemalloc.start()
    try:
        for stream in (swapped, longest, empty):
            decoder = FrameDecoder(BROKER_HEADER, MAX_BROKER_FRAME_BYTES)
            decoder.feed_untrusted(stream)
            with pytest.raises(BadFrame, match=str(BROKER_HEADER.unpack_from(stream)[0])):
                decoder.maybe_next_frame()
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_c036_streams_from_chrome_give_what_the_case_lists() -> None:
    """The bytes are those of a little-endian machine, hence `<I` and not this machine's order."""
    expected: dict[str, list[bytes] | type[BadFrame]] = {
        "one message": [b'{"t":"ping"}'],
        "two messages": [b'{"t":"ping"}', b'{"t":"ping"}'],
        "clean exit": [],
        "clean exit, fragment not forwarded": [],
        "one message, text intact (length counts bytes)": ['{"t":"café 😀"}'.encode()],
    }
    streams = json.loads(case_input("C-036-stdin-streams.json").read_text())
    assert len(streams) == 7
    for stream in streams:
        data = bytes.fromhex(stream["hex"])
        for step in (1, len(data)):
            decoder = FrameDecoder(struct.Struct("<I"), MAX_FROM_CHROME_BYTES)
            frames: list[bytes] = []
            try:
                for start in range(0, len(data), step):
                    decoder.feed_untrusted(data[start : start + step])
                    frames += drain(decoder)
            except BadFrame:
                assert "refused" in stream["expect"]
            else:
                assert frames == expected[stream["expect"]]


@both_headers
@pytest.mark.parametrize("length", [0, 11])
def test_a_frame_that_the_peer_would_refuse_is_not_encoded(header: struct.Struct, length: int) -> None:
    with pytest.raises(BadFrame, match=f"{length} bytes, limit 10"):
        encode_header(header, length, 10)
