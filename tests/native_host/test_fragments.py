import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_host import fragments
from native_host.fragments import encode_fragment, fragment_count, needs_fragments
from native_host.protocol import FRAGMENT_BYTES, MAX_TO_CHROME_BYTES
from tests.shared import case_input


def pieces_of(payload: bytes) -> list[bytes]:
    return [encode_fragment(5, 7, payload, seq) for seq in range(fragment_count(payload))]


def join(pieces: list[bytes]) -> bytes:
    """Join as the worker does, and check what it relies on."""
    frames = [json.loads(piece) for piece in pieces]
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    assert [frame["last"] for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert all((frame["conn"], frame["type"], frame["id"]) == (5, "fragment", 7) for frame in frames)
    return b"".join(base64.b64decode(frame["data"], validate=True) for frame in frames)


def contents() -> list[tuple[str, str]]:
    texts = {
        "U+1F600 repeated 100000": "\U0001f600" * 100_000,
        "quotation mark repeated 600000": '"' * 600_000,
        "U+0001 repeated 200000": "\x01" * 200_000,
        "letter a repeated 1500000": "a" * 1_500_000,
    }
    listed = [entry["content"] for entry in json.loads(case_input("C-035-sizes.json").read_text())]
    assert listed == list(texts)
    return list(texts.items())


@pytest.mark.parametrize(("name", "text"), contents(), ids=[name for name, _ in contents()])
def test_c035_no_text_grows_past_chromes_limit(name: str, text: str) -> None:
    for ensure_ascii in (True, False):
        payload = json.dumps({"params": {"content": text}}, ensure_ascii=ensure_ascii).encode()
        pieces = pieces_of(payload) if needs_fragments(payload) else [payload]
        assert max(map(len, pieces)) <= MAX_TO_CHROME_BYTES
        assert (join(pieces) if needs_fragments(payload) else payload) == payload


def test_512_kib_of_quotes_would_be_too_large_as_text_but_not_as_base64() -> None:
    """The reason for base64: the design's own figures."""
    quotes = b'"' * FRAGMENT_BYTES
    assert len(json.dumps(quotes.decode())) > MAX_TO_CHROME_BYTES
    (piece,) = pieces_of(quotes)
    assert len(json.loads(piece)["data"]) == 699_052
    assert len(piece) < 700_000


@pytest.mark.parametrize("size", [1, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 2 * FRAGMENT_BYTES, 2 * FRAGMENT_BYTES + 1])
def test_sizes_at_the_edge_give_the_exact_number_of_pieces(size: int) -> None:
    payload = b"x" * size
    assert needs_fragments(payload) is (size > FRAGMENT_BYTES)
    assert len(pieces_of(payload)) == -(-size // FRAGMENT_BYTES)
    assert join(pieces_of(payload)) == payload


@given(text=st.text(alphabet='é😀"\\\x01a', min_size=1, max_size=60), size=st.integers(1, 7))
def test_cuts_inside_characters_do_no_harm(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "FRAGMENT_BYTES", size)
        assert join(pieces_of(text.encode())).decode() == text
