import json
import os
from pathlib import Path

import pytest

from broker.allowlist import (
    Allowed,
    AllowlistFile,
    BrokenAllowlist,
    change_allowlist,
    load_allowlist,
    parse_allowlist,
    read_allowlist,
    serialise_allowlist,
)
from broker.errors import AllowlistDenied, InvalidArgument

A = "1a2b3c4d-0001-4a00-8b00-00000000000a"
B = "1a2b3c4d-0002-4a00-8b00-00000000000b"
ADA = "ada@example.com"


def document(notebooks: object, account: str = ADA) -> bytes:
    return json.dumps({"version": 1, "accounts": {account: {"notebooks": notebooks}}}).encode()


def test_ids_and_everything_are_read_for_the_account_in_any_case():
    assert A in parse_allowlist(document([A.upper()], "Ada@Example.com")).for_account(ADA)
    assert B not in parse_allowlist(document([A])).for_account(ADA)
    assert B in parse_allowlist(document("*")).for_account(ADA)


def test_another_account_allows_nothing():
    assert parse_allowlist(document("*")).for_account("grace@example.com").is_empty


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        b'{"version": 2, "accounts": {}}',
        b'{"accounts": {}}',
        b'{"version": 1}',
        b'{"version": 1, "accounts": []}',
        b'{"version": 1, "accounts": {"a@b": []}}',
        b'{"version": 1, "accounts": {"a@b": {}}}',
        document("all"),
        document(["*"]),
        document([A, None]),
        document([A, "not an id"]),
        document([A + "\n"]),
        document(True),
    ],
)
def test_a_broken_file_is_an_error_and_never_allow(data: bytes):
    with pytest.raises(BrokenAllowlist):
        parse_allowlist(data)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Allowed(everything=True), Allowed(everything=True), Allowed(everything=True)),
        (Allowed(everything=True), Allowed(frozenset({A})), Allowed(frozenset({A}))),
        (Allowed(frozenset({A, B})), Allowed(frozenset({B})), Allowed(frozenset({B}))),
        (Allowed(), Allowed(everything=True), Allowed()),
    ],
)
def test_what_both_sides_allow_is_allowed(one: Allowed, other: Allowed, both: Allowed):
    assert one.intersect(other) == both
    assert other.intersect(one) == both


def test_adding_removing_and_everything_are_written_and_read_back(tmp_path: Path):
    path = tmp_path / "allowlist.json"
    change_allowlist(path, lambda old: old.adding(ADA, [B, A]))
    assert json.loads(path.read_text()) == {"version": 1, "accounts": {ADA: {"notebooks": [A, B]}}}
    assert path.stat().st_mode & 0o777 == 0o600
    change_allowlist(path, lambda old: old.removing(ADA, [A]))
    assert load_allowlist(tmp_path).for_account(ADA) == Allowed(frozenset({B}))
    change_allowlist(path, lambda old: old.allowing_everything(ADA))
    assert load_allowlist(tmp_path).for_account(ADA).as_json() == "*"
    with pytest.raises(InvalidArgument):
        change_allowlist(path, lambda old: old.removing(ADA, [A]))
    change_allowlist(path, lambda old: old.allowing_everything(ADA, everything=False))
    assert load_allowlist(tmp_path).for_account(ADA).is_empty


def test_writing_keeps_other_accounts_and_reads_as_it_was():
    both = parse_allowlist(document([A])).adding("grace@example.com", [B])
    assert parse_allowlist(serialise_allowlist(both)) == both


def test_a_broken_file_is_never_overwritten(tmp_path: Path):
    path = tmp_path / "allowlist.json"
    path.write_text("{half")
    with pytest.raises(BrokenAllowlist):
        change_allowlist(path, lambda old: old.adding(ADA, [A]))
    assert path.read_text() == "{half"


def test_a_folder_in_place_of_the_file_is_broken(tmp_path: Path):
    (tmp_path / "allowlist.json").mkdir()
    with pytest.raises(BrokenAllowlist, match="cannot be read"):
        read_allowlist(tmp_path / "allowlist.json")


async def test_a_missing_file_allows_nothing_and_a_new_one_counts_at_once(tmp_path: Path):
    """`notebook-gateway allow` must work while a session runs."""
    path = tmp_path / "allowlist.json"
    allowlist = AllowlistFile(path)
    assert (await allowlist.for_account(ADA)).is_empty
    change_allowlist(path, lambda old: old.adding(ADA, [A]))
    assert A in await allowlist.for_account(ADA)
    change_allowlist(path, lambda old: old.removing(ADA, [A]))
    assert (await allowlist.for_account(ADA)).is_empty


async def test_a_file_edited_in_place_within_one_tick_is_noticed_by_its_size(tmp_path: Path):
    path = tmp_path / "allowlist.json"
    path.write_bytes(document([A]))
    allowlist = AllowlistFile(path)
    assert B not in await allowlist.for_account(ADA)
    stamp = path.stat()
    path.write_bytes(document([A, B]))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert B in await allowlist.for_account(ADA)


async def test_a_file_that_breaks_in_mid_session_denies_with_its_path(tmp_path: Path):
    path = tmp_path / "allowlist.json"
    path.write_bytes(document("*"))
    allowlist = AllowlistFile(path)
    assert A in await allowlist.for_account(ADA)
    path.write_text("{")
    with pytest.raises(AllowlistDenied, match="broken") as caught:
        await allowlist.for_account(ADA)
    assert str(path) in caught.value.message
    assert caught.value.details["side"] == "broker"
