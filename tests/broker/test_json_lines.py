from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker.json_lines import LineSplitter, OversizedLine
from tests.broker.line_pieces import split


def test_only_a_line_feed_ends_a_line():
    text = "a\u2028b\u2029c\u0085d\re\x0bf\x0cg".encode()
    assert split([text + b"\n"]) == [text]


def test_blank_lines_are_no_messages():
    assert split([b"\n \r\n\t\nx\r\n\n"]) == [b"x\r"]


def test_an_unfinished_line_waits_for_its_end():
    assert split([b"ab", b"cd"]) == []
    assert split([b"ab", b"cd", b"\n"]) == [b"abcd"]


def test_a_line_of_exactly_the_limit_passes():
    assert split([b"x" * 100 + b"\n"]) == [b"x" * 100]
    assert split([b"x" * 101 + b"\n"]) == [OversizedLine(100)]


def test_an_oversized_line_is_reported_before_its_end_and_dropped_to_its_end():
    splitter = LineSplitter(10)
    splitter.feed_untrusted(b"x" * 11)
    assert splitter.maybe_next_line() == OversizedLine(10)
    for _ in range(100):
        splitter.feed_untrusted(b"y" * 1000)
        assert splitter.maybe_next_line() is None
        assert len(splitter._buffer) == 0
    splitter.feed_untrusted(b"tail\nnext\n")
    assert splitter.maybe_next_line() == b"next"


@given(
    lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"?")), max_size=8),
    cuts=st.sets(st.integers(1, 200)),
)
def test_any_split_of_the_stream_gives_the_same_lines(lines: list[bytes], cuts: set[int]):
    """C-008: framing does not depend on how a pipe cuts."""
    stream = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    expected = [OversizedLine(20) if len(line) > 20 else line for line in lines if line.strip() or len(line) > 20]
    assert split(pieces, limit_bytes=20) == expected
