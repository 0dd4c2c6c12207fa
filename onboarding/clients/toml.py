"""Setting and removing one table of a TOML document by tomlkit, which keeps comments and layout. Pure.

What tomlkit would not give back byte for byte is refused, so nothing of the person's is ever rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from onboarding.clients.jsonc import BOM, UnreadableDocument


def set_table(text: bytes, path: Sequence[str], value: Mapping[str, object]) -> bytes:
    """Return `text` with the table at `path` set to `value`.

    Raises:
        UnreadableDocument: `text` is no TOML, or something on the way is no table.
    """
    document, source = _parsed(text)
    existing = _find(document, path)
    if existing is not None and cast("Table", existing).unwrap() == value:
        return text
    if existing is not None:
        for name in [name for name in existing if name not in value]:
            del existing[name]
        for name, each in value.items():
            existing[name] = _item(each)
        return _dumped(document, text)
    _require_tables(document, path)
    block = tomlkit.document()
    inner: Table = tomlkit.table()
    for name, each in value.items():
        inner[name] = _item(each)
    outer: Table = inner
    for name in reversed(path[1:]):
        wrapped = tomlkit.table(is_super_table=True)
        wrapped[name] = outer
        outer = wrapped
    block[path[0]] = outer
    newline = "\r\n" if "\r\n" in source else "\n"
    gap = "" if not source.strip() else newline if source.endswith(newline) else newline * 2
    new = text + (gap + tomlkit.dumps(block).replace("\n", newline)).encode()
    _parsed(new)
    return new


def remove_table(text: bytes, path: Sequence[str]) -> bytes:
    """Return `text` without the table at `path`; unchanged where there is none. Raises `UnreadableDocument`."""
    document, source = _parsed(text)
    parent, ours = _find(document, path[:-1]), _find(document, path)
    if parent is None or ours is None:
        return text
    block = _block(source, path, ours)
    if block is not None:
        return (BOM if text.startswith(BOM) else b"") + (source[: block[0]] + source[block[1] :]).encode()
    del parent[path[-1]]
    return _dumped(document, text)


def get_table(text: bytes, path: Sequence[str]) -> object:
    """Return the plain value at `path`, or None. Raises `UnreadableDocument`."""
    document, _ = _parsed(text)
    found = _find(document, path)
    return None if found is None else cast("Table", found).unwrap()


def _parsed(text: bytes) -> tuple[tomlkit.TOMLDocument, str]:
    try:
        source = text.removeprefix(BOM).decode()
        document = tomlkit.parse(source)
    except (UnicodeDecodeError, TOMLKitError) as error:
        raise UnreadableDocument(f"this is no TOML: {error}") from None
    if tomlkit.dumps(document) != source:
        raise UnreadableDocument("this file cannot be changed without touching the rest of it")
    return document, source


def _block(source: str, path: Sequence[str], ours: object) -> tuple[int, int] | None:
    """Return where our table begins and ends, with the empty line before it and without comments after it.

    tomlkit counts what follows a table up to the next header as part of it, but that is not ours. None where the table
    is written in another way than ours, with tables of its own or inline.
    """
    names = r"[ \t]*\.[ \t]*".join(f'"?{re.escape(name)}"?' for name in path)
    header = re.search(rf"(?:(?<=\n)\r?\n|^)[ \t]*\[[ \t]*{names}[ \t]*\][^\n]*\n", source, re.MULTILINE)
    if header is None or not isinstance(ours, Table) or any(isinstance(item, Table) for _, item in ours.value.body):
        return None
    body = ours.as_string()
    after = ""
    for key, item in reversed(ours.value.body):
        if key is not None:
            break
        after = item.as_string() + after
    kept = body.removesuffix(after)
    return (header.start(), header.end() + len(kept)) if source.startswith(kept, header.end()) else None


def _dumped(document: tomlkit.TOMLDocument, old: bytes) -> bytes:
    return (BOM if old.startswith(BOM) else b"") + tomlkit.dumps(document).encode()


def _find(document: tomlkit.TOMLDocument, path: Sequence[str]) -> dict[str, object] | None:
    node: object = document
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return None
        node = cast("dict[str, object]", node)[name]
    return cast("dict[str, object]", node) if isinstance(node, dict) else None


def _require_tables(document: tomlkit.TOMLDocument, path: Sequence[str]) -> None:
    node: object = document
    for name in path[:-1]:
        node = cast("dict[str, object]", node).get(name)
        if node is None:
            return
        if not isinstance(node, Table) and type(node).__name__ != "OutOfOrderTableProxy":
            raise UnreadableDocument(f"{name!r} is no table in brackets; add the entry by hand (`--print` shows it)")


def _item(value: object) -> object:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, each in cast("Mapping[str, object]", value).items():
            table[name] = each
        return table
    return value
