"""`allowlist.json`: which notebooks the person lets agents see. Deny by default.

``{"version": 1, "accounts": {"<e-mail>": {"notebooks": ["<id>", …] or "*"}}}``

The parser and the edits are pure. `AllowlistFile` reads the file again whenever it has changed, so that
`notebook-gateway allow` works in the middle of a session. A missing file allows nothing; a broken one is an error and
never "allow". The extension keeps its own copy: what both allow is allowed (design, "Session lock").
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, cast

import orjson
import trio
from attrs import evolve, field, frozen

from broker.atomic_file import write_private_file
from broker.errors import AllowlistDenied, InvalidArgument
from native_host.paths import allowlist_file

VERSION: Final = 1
EVERYTHING: Final = "*"
MAX_ALLOWLIST_BYTES: Final = 1024 * 1024

NOTEBOOK_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Ids are compared in lower case, as the service writes them."""


class BrokenAllowlist(ValueError):
    """The text is not an allowlist; the message says where."""


@frozen
class Allowed:
    """What one account allows: everything, or these ids."""

    ids: frozenset[str] = frozenset()
    everything: bool = False

    def __contains__(self, notebook_id: object) -> bool:
        return self.everything or notebook_id in self.ids

    @property
    def is_empty(self) -> bool:
        return not self.everything and not self.ids

    def as_json(self) -> str | list[str]:
        """Return the value as the file and the extension spell it."""
        return EVERYTHING if self.everything else sorted(self.ids)

    def intersect(self, other: Allowed) -> Allowed:
        """Return what both allow."""
        if self.everything:
            return other
        return self if other.everything else Allowed(self.ids & other.ids)


@frozen
class Allowlist:
    """All accounts, by address in lower case."""

    accounts: dict[str, Allowed] = field(factory=dict[str, Allowed])

    def for_account(self, account: str) -> Allowed:
        return self.accounts.get(account.casefold(), Allowed())

    def adding(self, account: str, notebook_ids: Iterable[str]) -> Allowlist:
        """Return a list that also allows these ids."""
        old = self.for_account(account)
        return self._with(account, evolve(old, ids=old.ids | set(notebook_ids)))

    def removing(self, account: str, notebook_ids: Iterable[str]) -> Allowlist:
        """Return a list that does not name these ids.

        Raises:
            InvalidArgument: the account allows everything, and one id cannot be taken out of that.
        """
        old = self.for_account(account)
        if old.everything:
            raise InvalidArgument(
                "All notebooks are allowed; single ones cannot be removed from that.",
                hint="Take the permission for all back first, then allow notebooks one by one.",
            )
        return self._with(account, evolve(old, ids=old.ids - set(notebook_ids)))

    def allowing_everything(self, account: str, *, everything: bool = True) -> Allowlist:
        """Return a list in which the account allows every notebook, or no longer does."""
        return self._with(account, Allowed(everything=everything))

    def _with(self, account: str, allowed: Allowed) -> Allowlist:
        return Allowlist({**self.accounts, account.casefold(): allowed})


def parse_allowlist(data: bytes) -> Allowlist:
    """Return the list in `data`.

    Raises:
        BrokenAllowlist: anything but version 1 of the format above.
    """
    try:
        top: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BrokenAllowlist(f"not JSON: {error.msg} at line {error.lineno}") from error
    fields = _object(top, "the file")
    if fields.get("version") != VERSION:
        raise BrokenAllowlist(f'"version" must be {VERSION}')
    accounts: dict[str, Allowed] = {}
    for address, entry in _object(fields.get("accounts"), '"accounts"').items():
        where = f"account {address!r}"
        notebooks = _object(entry, where).get("notebooks")
        accounts[address.casefold()] = parse_notebooks(notebooks, where)
    return Allowlist(accounts)


def parse_notebooks(notebooks: object, where: str) -> Allowed:
    """Return what ``"*"`` or a list of ids allows; the extension states its copy in the same form.

    Raises:
        BrokenAllowlist: anything else.
    """
    if notebooks == EVERYTHING:
        return Allowed(everything=True)
    if not isinstance(notebooks, list):
        raise BrokenAllowlist(f'{where}: "notebooks" must be a list of ids or "*"')
    ids: set[str] = set()
    for notebook_id in cast("list[object]", notebooks):
        if not isinstance(notebook_id, str) or not NOTEBOOK_ID.fullmatch(notebook_id.lower()):
            raise BrokenAllowlist(f"{where}: a notebook id looks like 1a2b3c4d-0001-4a00-8b00-00000000000a")
        ids.add(notebook_id.lower())
    return Allowed(frozenset(ids))


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BrokenAllowlist(f"{where} must be an object")
    return cast("dict[str, object]", value)


def serialise_allowlist(allowlist: Allowlist) -> bytes:
    """Return the file's bytes: sorted and indented, because people read and edit it."""
    accounts = {address: {"notebooks": allowed.as_json()} for address, allowed in sorted(allowlist.accounts.items())}
    document = {"version": VERSION, "accounts": accounts}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_allowlist(path: Path) -> Allowlist:
    """Read the file now; a missing one allows nothing.

    Raises:
        BrokenAllowlist: it is there but no allowlist, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ALLOWLIST_BYTES + 1)
    except FileNotFoundError:
        return Allowlist()
    except OSError as error:
        raise BrokenAllowlist(f"it cannot be read: {error.strerror}") from error
    if len(data) > MAX_ALLOWLIST_BYTES:
        raise BrokenAllowlist(f"it is larger than {MAX_ALLOWLIST_BYTES} bytes")
    return parse_allowlist(data)


def change_allowlist(path: Path, change: Callable[[Allowlist], Allowlist]) -> Allowlist:
    """Read, change and replace the file in one step that a crash cannot cut; for the command line.

    Raises:
        BrokenAllowlist: the present file is broken; it is left as it is.
    """
    changed = change(read_allowlist(path))
    write_private_file(path, serialise_allowlist(changed))
    return changed


def load_allowlist(home: Path) -> Allowlist:
    """Read the allowlist of the home folder now. Raises: AllowlistDenied when it is broken."""
    path = allowlist_file(home)
    try:
        return read_allowlist(path)
    except BrokenAllowlist as error:
        raise _denied(path, error) from error


def _denied(path: Path, error: BrokenAllowlist) -> AllowlistDenied:
    return AllowlistDenied(
        f"{path} is broken, so nothing is allowed: {error}.",
        hint=f"Ask the person to mend {path}, or to remove it and allow notebooks anew.",
        details={"side": "broker"},
    )


class AllowlistFile:
    """The file as it is now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._allowlist: Allowlist | BrokenAllowlist = Allowlist()

    def __repr__(self) -> str:
        return f"<AllowlistFile {self.path.name} {len(getattr(self._allowlist, 'accounts', ()))} accounts>"

    async def for_account(self, account: str) -> Allowed:
        """Return what `account` allows at this moment.

        Raises:
            AllowlistDenied: the file is broken.
        """
        # One stat on a local file is far cheaper than a thread; the reading itself may be slow and leaves the loop.
        stamp = self._stamp()
        if stamp != self._seen:
            self._allowlist = await trio.to_thread.run_sync(self._read)
            self._seen = stamp
        if isinstance(self._allowlist, BrokenAllowlist):
            raise _denied(self.path, self._allowlist)
        return self._allowlist.for_account(account)

    def _stamp(self) -> tuple[int, int, int]:
        try:
            status = os.stat(self.path)
        except OSError:
            return (0, 0, 0)
        return (status.st_mtime_ns, status.st_ino, status.st_size)

    def _read(self) -> Allowlist | BrokenAllowlist:
        try:
            return read_allowlist(self.path)
        except BrokenAllowlist as error:
            return error
