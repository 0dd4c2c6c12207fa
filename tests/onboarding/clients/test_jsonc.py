"""Every byte that is not ours stays, whatever a person wrote around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onboarding.clients.jsonc import UnreadableDocument, get_member, remove_member, set_member

ENTRY = {"command": "/opt/python", "args": ["serve"]}
PATH = ("mcpServers", "notebook-gateway")

COMMENTED = b"""\
// my servers
{
  "theme": "dark", // a comment, with a comma
  "mcpServers": {
    "other": {"command": "x",}, /* kept */
  },
}
"""


def test_comments_and_trailing_commas_stay_where_they_are() -> None:
    text = set_member(COMMENTED, PATH, ENTRY)
    head, tail = COMMENTED.split(b" /* kept */")
    assert text.startswith(head + b" /* kept */")
    assert text.endswith(tail)
    assert get_member(text, PATH) == ENTRY
    assert remove_member(text, PATH) == COMMENTED


def test_windows_line_breaks_tabs_and_a_byte_order_mark_are_kept_up() -> None:
    text = b'\xef\xbb\xbf{\r\n\t"a": 1 // last\r\n}\r\n'
    changed = set_member(text, PATH, ENTRY)
    assert changed.startswith(b'\xef\xbb\xbf{\r\n\t"a": 1, // last\r\n\t"mcpServers": {\r\n\t\t"notebook-gateway"')
    assert changed.endswith(b"\r\n\t}\r\n}\r\n")
    assert b"\n" not in changed.replace(b"\r\n", b"")
    assert b"\r\r" not in changed


@pytest.mark.parametrize("text", [b"", b"\n", b"{}", b"{ }\n", b"{\n}\n"])
def test_an_empty_document_becomes_one_with_our_member_only(text: bytes) -> None:
    assert json.loads(set_member(text, PATH, ENTRY)) == {"mcpServers": {"notebook-gateway": ENTRY}}


def test_a_document_in_one_line_stays_in_one_line() -> None:
    assert set_member(b'{"a":1}', ("b",), {"c": 2}) == b'{"a":1, "b": {"c": 2}}'


def test_our_member_is_replaced_in_its_place() -> None:
    first = set_member(COMMENTED, PATH, {"command": "old"})
    assert set_member(first, PATH, ENTRY) == set_member(COMMENTED, PATH, ENTRY)


def test_of_two_members_with_one_name_the_last_counts_as_in_every_reader() -> None:
    text = set_member(b'{"s": {"a": 1}, "s": {"b": 2}}', ("s", "c"), {})
    assert json.loads(text) == {"s": {"b": 2, "c": {}}}
    assert text.startswith(b'{"s": {"a": 1}, ')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'{\n"a": }', 2),
        (b'{"a": 1,,}', 1),
        (b"{'a': 1}", 1),
        (b'{"a": [,]}', 1),
        (b"{,}", 1),
        (b'{"a": 1', 1),
        (b"[1]", 1),
        (b'{} {"b": 1}', 1),
        (b'\n{"mcpServers": 3}', 2),
    ],
)
def test_what_is_no_such_document_is_refused_with_its_line(text: bytes, line: int) -> None:
    with pytest.raises(UnreadableDocument, match=f"line {line}"):
        set_member(text, PATH, ENTRY)


# ---------------------------------------------------------------------------------------------- any document at all
BLANK = st.sampled_from(["", " ", "\n", "\n\t", " /* c, } */ ", " // d: {\n"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)).map(json.dumps)


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> str:
    """A JSON object as somebody might have typed it: odd white space, comments, trailing commas."""
    values = SCALARS if depth == 0 else st.one_of(SCALARS, objects(depth - 1))
    names = draw(st.lists(st.text(min_size=1, max_size=6), max_size=3, unique=True))
    members = [
        f"{draw(BLANK)}{json.dumps(name)}{draw(BLANK)}:{draw(BLANK)}{draw(values)}{draw(BLANK)}" for name in names
    ]
    comma = draw(st.sampled_from(["", ","])) if members else ""
    return "{" + ",".join(members) + comma + draw(BLANK) + "}"


def plain(text: bytes) -> Any:
    """What a reader makes of a document: set as a member of ours and read back by our own reader."""
    return get_member(b'{"all": ' + text + b"}", ("all",))


@given(objects(), st.sampled_from(["", "\n"]))
def test_everything_else_in_any_document_reads_and_stands_as_before(document: str, end: str) -> None:
    text = (document + end).encode()
    before = plain(text)
    changed = set_member(text, ("our servers", "ours"), ENTRY)
    assert plain(changed) == {**before, "our servers": {"ours": ENTRY}}
    assert _is_subsequence(text.strip(), changed)
    removed = remove_member(changed, ("our servers",))
    assert plain(removed) == before


def _is_subsequence(old: bytes, new: bytes) -> bool:
    """Whether `new` is `old` with something put in between, in the same order."""
    rest = iter(new)
    return all(byte in rest for byte in old)
