"""Setting and removing one member of a JSON document that may hold comments, keeping every other byte. Pure.

The parser is tree-sitter's, which gives positions; the text is then cut at these and joined again, so what is not ours
is never written anew. Trailing commas are taken, since VS Code and Zed take them; anything else that is no JSON is an
error that names its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import tree_sitter_json
from tree_sitter import Language, Node, Parser

BOM: Final = b"\xef\xbb\xbf"
DEFAULT_INDENT: Final = b"  "
_INDENT: Final = re.compile(rb"\n([ \t]+)\S")


class UnreadableDocument(ValueError):
    """The text is no JSON document that a member could be set in; the message names the line."""


def set_member(text: bytes, path: Sequence[str], value: Mapping[str, object]) -> bytes:
    """Return `text` with the member at `path` set to `value`, and every other byte as it was.

    Objects that are missing on the way are made. Of members with the same name the last one counts, as in every reader.

    Raises:
        UnreadableDocument: `text` is no JSON, or something on the way is no object.
    """
    document = _Document(text)
    if document.root is None:
        newline = document.newline
        nested = _nested(path, value)
        return text.rstrip() + _rendered(nested, b"", document.indent, newline) + newline
    node, depth = document.root, 0
    while True:
        pair = _member(node, path[depth])
        if pair is None:
            nested = _nested(path[depth + 1 :], value)
            return document.with_new_member(node, path[depth], nested)
        found = _value_of(pair)
        if depth == len(path) - 1:
            if json.loads(_without_comments(document.clean, found)) == value:
                return text
            indent = document.indent_of(pair)
            new = _rendered(value, indent, document.indent, document.newline)
            return document.spliced([(found.start_byte, found.end_byte, new)])
        if found.type != "object":
            raise UnreadableDocument(f"line {found.start_point.row + 1}: {path[depth]!r} is no object")
        node, depth = found, depth + 1


def remove_member(text: bytes, path: Sequence[str]) -> bytes:
    """Return `text` without the member at `path`; unchanged where there is none.

    Raises:
        UnreadableDocument: `text` is no JSON.
    """
    document = _Document(text)
    pair = document.find(path)
    return text if pair is None else document.without(pair)


def get_member(text: bytes, path: Sequence[str]) -> object:
    """Return the value at `path`, or None where there is none.

    Raises:
        UnreadableDocument: `text` is no JSON.
    """
    document = _Document(text)
    pair = document.find(path)
    if pair is None:
        return None
    value = _value_of(pair)
    return json.loads(_without_comments(document.clean, value))


class _Document:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.newline = b"\r\n" if b"\r\n" in text else b"\n"
        indent = _INDENT.search(text)
        self.indent = indent[1] if indent else DEFAULT_INDENT
        self.clean = _without_trailing_commas(text)
        tree = _parser().parse(self.clean)
        self._tree = tree  # nodes point into it
        _require_whole(tree.root_node)
        values = [child for child in tree.root_node.children if child.type != "comment"]
        if len(values) > 1 or (values and values[0].type != "object"):
            raise UnreadableDocument("line 1: the document is no JSON object")
        if not values and tree.root_node.children:
            raise UnreadableDocument("line 1: the document holds comments only")
        self.root = values[0] if values else None

    def find(self, path: Sequence[str]) -> Node | None:
        node = self.root
        pair: Node | None = None
        for name in path:
            pair = None if node is None or node.type != "object" else _member(node, name)
            if pair is None:
                return None
            node = _value_of(pair)
        return pair

    def indent_of(self, node: Node) -> bytes:
        """Return the white space that the line of `node` begins with."""
        line = self.text[self.text.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
        return line[: len(line) - len(line.lstrip(b" \t"))].removeprefix(BOM)

    def with_new_member(self, node: Node, name: str, value: object) -> bytes:
        pairs = _pairs(node)
        closing = node.children[-1]
        is_inline = bool(pairs) and node.start_point.row == node.end_point.row
        outer = self.indent_of(node)
        inner = self.indent_of(pairs[-1]) if pairs and not is_inline else outer + self.indent
        key = json.dumps(name, ensure_ascii=False).encode() + b": "
        if is_inline:
            new = b" " + key + json.dumps(value, ensure_ascii=False).encode()
        else:
            new = self.newline + inner + key + _rendered(value, inner, self.indent, self.newline)
        last = closing.prev_sibling or closing
        # A comment up to the end of its line takes the carriage return of a Windows line break along.
        last_end = last.end_byte - self.text[last.start_byte : last.end_byte].endswith(b"\r")
        edits: list[tuple[int, int, bytes]] = []
        if pairs:
            end = pairs[-1].end_byte
            comma = self._trailing_comma(end, closing.start_byte)
            if comma is None:
                edits.append((end, end, b","))
            else:
                new += b","
                last_end = max(last_end, comma + 1)
                return self.spliced([(last_end, last_end, new)])
        at = last_end
        if not is_inline and b"\n" not in self.text[at : closing.start_byte]:
            new += self.newline + outer
        edits.append((at, at, new))
        return self.spliced(edits)

    def without(self, pair: Node) -> bytes:
        """Cut a member out, with its comma and the white space that set it apart."""
        start, end = pair.start_byte, pair.end_byte
        following = pair.next_sibling
        while following is not None and following.type == "comment":
            following = following.next_sibling
        before = pair.prev_sibling
        while before is not None and before.type == "comment":
            before = before.prev_sibling
        lead = len(self.text[:start].rstrip())
        trailing = self._trailing_comma(end, following.start_byte if following is not None else end)
        if following is not None and following.type == ",":
            return self.spliced([(lead, following.end_byte, b"")])
        if trailing is not None:
            return self.spliced([(lead, trailing + 1, b"")])
        edits = [(lead, end, b"")]
        if before is not None and before.type == ",":
            edits.insert(0, (before.start_byte, before.end_byte, b""))
        return self.spliced(edits)

    def spliced(self, edits: list[tuple[int, int, bytes]]) -> bytes:
        parts: list[bytes] = []
        at = 0
        for start, end, new in edits:
            parts += [self.text[at:start], new]
            at = max(at, end)
        return b"".join([*parts, self.text[at:]])

    def _trailing_comma(self, start: int, end: int) -> int | None:
        """Return where a comma stands that was blanked, between the last member and the bracket."""
        return next((at for at in range(start, end) if self.text[at : at + 1] == b"," != self.clean[at : at + 1]), None)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_json.language()))


def _without_trailing_commas(text: bytes) -> bytes:
    """Blank the commas before a closing bracket; positions stay."""
    clean = bytearray(text)
    if text.startswith(BOM):
        clean[:3] = b"   "
    while True:
        tree = _parser().parse(bytes(clean))
        found = [node.start_byte for node in _walk(tree.root_node) if _is_trailing_comma(node)]
        if not found:
            return bytes(clean)
        for at in found:
            clean[at : at + 1] = b" "


def _is_trailing_comma(node: Node) -> bool:
    if node.type != "," and not (node.type == "ERROR" and node.text == b","):
        return False
    before = node.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    has_value_before = before is not None and before.type not in ("[", "{", ",", "ERROR")
    following = node.next_sibling
    while following is not None and (following.type == "comment" or following.is_missing):
        following = following.next_sibling
    return has_value_before and following is not None and following.type in ("}", "]")


def _require_whole(root: Node) -> None:
    if not root.has_error:
        return
    for node in _walk(root):
        if node.is_error or node.is_missing:
            raise UnreadableDocument(f"line {node.start_point.row + 1}: this is no JSON")
    raise UnreadableDocument("line 1: this is no JSON")


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += reversed(each.children)


def _pairs(node: Node) -> list[Node]:
    return [child for child in node.children if child.type == "pair"]


def _member(node: Node, name: str) -> Node | None:
    named: Node | None = None
    for pair in _pairs(node):
        key = pair.child_by_field_name("key")
        if key is not None and key.text is not None and json.loads(key.text) == name:
            named = pair
    return named


def _value_of(pair: Node) -> Node:
    value = pair.child_by_field_name("value")
    if value is None:
        raise UnreadableDocument(f"line {pair.start_point.row + 1}: a name without a value")
    return value


def _without_comments(clean: bytes, node: Node) -> bytes:
    kept = bytearray(clean[node.start_byte : node.end_byte])
    for each in _walk(node):
        if each.type == "comment":
            start = each.start_byte - node.start_byte
            kept[start : start + each.end_byte - each.start_byte] = b" " * (each.end_byte - each.start_byte)
    return bytes(kept)


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _rendered(value: object, indent: bytes, unit: bytes, newline: bytes) -> bytes:
    text = json.dumps(value, ensure_ascii=False, indent=unit.decode())
    return text.encode().replace(b"\n", newline + indent)
