"""Whatever stands in `allowlist.json`, it is read as exactly what it allows, and written and read again the same, or it
is `BrokenAllowlist` and allows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from broker.allowlist import NOTEBOOK_ID, BrokenAllowlist, parse_allowlist, serialise_allowlist

ID = "1a2b3c4d-0001-4a00-8b00-00000000000a"


def one_input(data: bytes) -> None:
    try:
        allowlist = parse_allowlist(data)
    except BrokenAllowlist as error:
        str(error).encode()
        return
    assert parse_allowlist(serialise_allowlist(allowlist)) == allowlist
    said: dict[str, Any] = json.loads(data)["accounts"]
    named = json.dumps(said).lower()
    for account, allowed in allowlist.accounts.items():
        assert account in {address.casefold() for address in said}
        assert not (allowed.everything and allowed.ids)
        assert allowed.everything <= any(entry["notebooks"] == "*" for entry in said.values())
        for notebook_id in allowed.ids:
            assert NOTEBOOK_ID.fullmatch(notebook_id)
            assert notebook_id in named


def seeds() -> Iterator[bytes]:
    for notebooks in ("*", [], [ID], [ID.upper(), ID], [7], None, {"a": 1}):
        yield json.dumps({"version": 1, "accounts": {"Ada@example.com": {"notebooks": notebooks}}}).encode()
    twice = {"ada@example.com": {"notebooks": [ID]}, "ADA@example.com": {"notebooks": "*"}}
    yield json.dumps({"version": 1, "accounts": twice}, indent=2).encode()
    yield json.dumps({"version": 2, "accounts": {}}).encode()
    yield b"{}"
