from __future__ import annotations

import tomllib

import pytest

from onboarding.clients.jsonc import UnreadableDocument
from onboarding.clients.toml import get_table, remove_table, set_table

ENTRY = {"command": "/opt/python", "args": ["serve"], "env": {"A": "b"}, "tool_timeout_sec": 180}
PATH = ("mcp_servers", "notebook-gateway")
WRITTEN = b"""\
# mine
model = "x"   # a comment

[mcp_servers.other]   # kept
command = 'y'
"""


AS_WRITTEN = [WRITTEN, WRITTEN.rstrip(), WRITTEN.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + WRITTEN]


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_our_table_is_added_at_the_end_and_every_byte_before_it_stays(text: bytes) -> None:
    changed = set_table(text, PATH, ENTRY)
    assert changed.startswith(text)
    assert get_table(changed, PATH) == ENTRY
    assert tomllib.loads(changed.decode("utf-8-sig"))["mcp_servers"]["other"] == {"command": "y"}
    assert changed.count(b"\r\n") == (changed.count(b"\n") if b"\r\n" in text else 0)


def test_our_table_is_changed_in_its_place() -> None:
    text = set_table(WRITTEN, PATH, {"command": "old", "gone": 1}) + b"\n[z]\na = 1 # z\n"
    changed = set_table(text, PATH, ENTRY)
    assert get_table(changed, PATH) == ENTRY
    assert changed.startswith(WRITTEN)
    assert changed.endswith(b"\n[z]\na = 1 # z\n")


@pytest.mark.parametrize("text", AS_WRITTEN)
@pytest.mark.parametrize("later", [b"", b"# later\n", b"\n# later\n\n[z]\na = 1\n"])
def test_taking_it_out_leaves_what_the_person_wrote_before_and_after(text: bytes, later: bytes) -> None:
    added = set_table(text, PATH, ENTRY)
    left = remove_table(added + later, PATH)
    assert left == (text if text.endswith(b"\n") else text + b"\n") + later
    assert remove_table(text, PATH) == text


def test_a_table_that_the_person_split_up_is_taken_out_whole() -> None:
    text = WRITTEN + b'[mcp_servers.notebook-gateway]\ncommand = "x"\n[mcp_servers.notebook-gateway.env]\nA = "b"\n'
    assert remove_table(text, PATH) == WRITTEN


@pytest.mark.parametrize("text", [b"a = ", b"[a", b"\xff", b"mcp_servers = {}\n", b"mcp_servers = 3\n"])
def test_what_cannot_be_changed_in_peace_is_refused(text: bytes) -> None:
    with pytest.raises(UnreadableDocument):
        set_table(text, PATH, ENTRY)
