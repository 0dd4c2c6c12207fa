import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_host.messages import BadMessage, checked_fields, encode, message_type, parse_untrusted
from native_host.protocol import BROKER_TO_HOST, MAX_JSON_DEPTH, MESSAGES
from tests.native_host.fakes import HELLO, READY, call_frame

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=100))
def test_untrusted_bytes_raise_nothing_but_bad_message(data: bytes) -> None:
    try:
        assert isinstance(parse_untrusted(data), dict)
    except BadMessage:
        return


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=5))
def test_any_object_comes_through_unchanged(message: dict[str, object]) -> None:
    assert parse_untrusted(encode(message)) == message


@pytest.mark.parametrize(
    "payload",
    [
        b"[]",
        b"1",
        b"null",
        b'"text"',
        b"{",
        b"{}{}",
        b"",
        b'\xef\xbb\xbf{"type":"ping"}',
        '{"type":"ping"}'.encode("utf-16"),
        b'{"t":"\xff"}',
        b'{"t":"\xed\xa0\x80"}',
        b'{"t":"\x01"}',
        b'{"t":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=repr,
)
def test_what_is_not_one_utf8_json_object_is_refused(payload: bytes) -> None:
    with pytest.raises(BadMessage):
        parse_untrusted(payload)


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_not_written(bad: str) -> None:
    """Python reads them, Chrome does not: it would close the port for every broker."""
    message = parse_untrusted(b'{"t":%s}' % bad.encode())
    assert not math.isfinite(message["t"])  # pyright: ignore[reportArgumentType]  # it is a float, see above
    with pytest.raises(BadMessage, match="not JSON"):
        encode(message)


@pytest.mark.parametrize("text", [r"\ud800", r"\udc00", r"a\ud83db", r"\ude00\ud83d"])
def test_lone_surrogates_become_replacement_characters(text: str) -> None:
    written = encode(parse_untrusted(b'{"t":"%s"}' % text.encode()))
    assert "�" in json.loads(written.decode("utf-8"))["t"]


def test_a_surrogate_pair_is_one_character_and_stays() -> None:
    assert encode(parse_untrusted(rb'{"t":"\ud83d\ude00"}')) == '{"t":"😀"}'.encode()


def nested(levels: int, opening: bytes, closing: bytes) -> bytes:
    """Return an object with `levels` levels in all, the object itself counted."""
    return b'{"p":' + opening * (levels - 1) + b"0" + closing * (levels - 1) + b"}"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_nesting_ends_where_chromes_reader_would_end_it(opening: bytes, closing: bytes) -> None:
    parse_untrusted(nested(MAX_JSON_DEPTH, opening, closing))
    for levels in (MAX_JSON_DEPTH + 1, MAX_JSON_DEPTH + 100, 50_000):
        with pytest.raises(BadMessage):
            parse_untrusted(nested(levels, opening, closing))


def test_many_flat_brackets_are_no_depth() -> None:
    parse_untrusted(json.dumps({"p": [[]] * 1000, "q": "[" * 1000}).encode())


def test_a_type_is_one_of_the_leg() -> None:
    assert message_type({"type": "call"}, BROKER_TO_HOST) == "call"
    for kind in ("result", "conn_open", "EXECUTE", None, 1, ["call"]):
        with pytest.raises(BadMessage, match="is none of call, cancel"):
            message_type({"type": kind}, BROKER_TO_HOST)


def test_only_fields_of_the_table_come_through() -> None:
    forged = {**call_frame(1), "conn": 2, "extra": "x", "data": "y"}
    assert checked_fields("call", forged) == {key: value for key, value in call_frame(1).items() if key != "type"}


@pytest.mark.parametrize("kind", sorted(BROKER_TO_HOST))
def test_each_required_field_is_missed_by_name(kind: str) -> None:
    full: dict[str, Any] = {**HELLO, **call_frame(1), "reason": "r", "t": 1, "code": "C", "message": "m"}
    assert checked_fields(kind, full)
    for name in MESSAGES[kind][0]:
        with pytest.raises(BadMessage, match=f"{kind}: field '{name}' is missing"):
            checked_fields(kind, {key: value for key, value in full.items() if key != name})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("call", "id", -1),
        ("call", "id", True),
        ("call", "id", 1.0),
        ("call", "id", "1"),
        ("call", "id", 2**53),
        ("call", "op", ["rpc"]),
        ("call", "params", []),
        ("call", "params", None),
        ("call", "notebook", 5),
        ("call", "account", {}),
        ("call", "not_after_ms", "soon"),
        ("call", "not_after_ms", True),
        ("call", "trace", None),
        ("cancel", "reason", "r" * 5000),
        ("hello", "v_min", "1"),
        ("hello", "client", {"name": "x"}),
        ("hello", "client", "x"),
        ("hello", "pid", None),
        ("hello", "build", "b" * 5000),
        ("ping", "t", {"deep": 1}),
        ("ready", "account", 1),
        ("ready", "profile", None),
    ],
)
def test_a_wrong_type_is_refused_by_name(kind: str, name: str, value: object) -> None:
    full: dict[str, Any] = {**HELLO, **READY, **call_frame(1), "reason": "r", "t": 1}
    with pytest.raises(BadMessage, match=f"{kind}: field '{name}' has the wrong type or value"):
        checked_fields(kind, {**full, name: value})
