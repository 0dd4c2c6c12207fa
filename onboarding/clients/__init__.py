"""Installing our server into MCP clients, and taking it out again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from onboarding.clients.catalog import CLIENTS, SERVER_KEY, Client, Places, ServerEntry, file_name, places_of
from onboarding.clients.jsonc import UnreadableDocument, get_member, remove_member, set_member
from onboarding.clients.toml import get_table, remove_table, set_table
from onboarding.footprint import Footprint, Record, Restored

__all__ = [
    "CLIENTS",
    "SERVER_KEY",
    "CannotInstall",
    "Client",
    "Installed",
    "Places",
    "ServerEntry",
    "file_name",
    "find_client",
    "install",
    "installed_entry",
    "is_there",
    "places_of",
    "render",
    "uninstall",
    "without_ours",
]


class CannotInstall(Exception):
    """The client's file could not be changed; it is as it was. `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@attrs.frozen
class Installed:
    """Where the entry stands, and whether the file had to be changed for it."""

    path: Path
    is_changed: bool


def is_there(client: Client, places: Places) -> bool:
    """Whether the client seems to be installed."""
    return any(sign.exists() for sign in client.signs(places))


def render(client: Client, server: ServerEntry) -> str:
    """Return the block that `install` sets, as it would stand in an empty file."""
    path, entry = client.entry_path(), client.entry(server)
    text = set_table(b"", path, entry) if client.format == "toml" else set_member(b"", path, entry)
    return text.decode()


def install(client: Client, server: ServerEntry, places: Places, footprint: Footprint) -> Installed:
    """Set our entry in the client's file; all other bytes stay. An entry that is there already is replaced.

    Raises:
        CannotInstall: the file cannot be read, is no such document, or cannot be written.
    """
    file = client.file(places)
    path, entry = client.entry_path(), client.entry(server)
    try:
        old = file.read_bytes() if file.exists() else b""
        new = set_table(old, path, entry) if client.format == "toml" else set_member(old, path, entry)
        return Installed(file, footprint.write(file, new, client.id))
    except UnreadableDocument as error:
        raise CannotInstall(
            f"{file}, {error}", f"Mend the file, or add the entry by hand: notebook-gateway install {client.id} --print"
        ) from None
    except OSError as error:
        raise CannotInstall(f"{file} cannot be changed: {error.strerror}", "Check who owns the file.") from None


def installed_entry(client: Client, places: Places) -> dict[str, object] | None:
    """Return our entry as the client would read it, or None.

    Raises:
        UnreadableDocument: the client's file is no such document.
        OSError: it cannot be read.
    """
    file = client.file(places)
    if not file.exists():
        return None
    get = get_table if client.format == "toml" else get_member
    found = get(file.read_bytes(), client.entry_path())
    return json.loads(json.dumps(found)) if isinstance(found, dict) else None


def uninstall(client: Client, places: Places, footprint: Footprint) -> Restored | None:
    """Take our entry out of the client's file; None where there is none.

    Raises:
        CannotInstall: the file cannot be changed; it is as it was.
    """
    file = client.file(places)
    record = footprint.maybe_record(file)
    try:
        if record is not None:
            return footprint.restore(record, lambda now: without_ours(client, now, footprint.former_bytes(record)))
        if not file.exists() or installed_entry(client, places) is None:
            return None
        left = without_ours(client, file.read_bytes(), b"")
        footprint.write(file, left or b"", client.id)
        return Restored(file, "cut out")
    except (OSError, ValueError) as error:
        raise CannotInstall(f"{file} cannot be changed: {error}", "Mend the file, then try again.") from None


def without_ours(client: Client, now: bytes, before: bytes | None) -> bytes | None:
    """Return what a file holds now without our entry and without objects that only we needed.

    None where nothing is left of a file that was not there before.
    """
    get, remove = (get_table, remove_table) if client.format == "toml" else (get_member, remove_member)
    text = remove(now, client.entry_path())
    if get(text, client.member) == {} and get(before or b"", client.member) is None:
        text = remove(text, client.member)
    is_empty = text.strip() in (b"", b"{}") or text.split() == [b"{", b"}"]
    return None if before is None and is_empty else text


def find_client(record: Record) -> Client | None:
    """Return the client whose file a record is about, or None for another kind of file."""
    return CLIENTS.get(record.what)
