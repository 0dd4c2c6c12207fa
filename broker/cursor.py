"""Cut lists into pages whose cursors stay valid while the list changes. Pure.

Rows are ordered by (creation time, id), which no edit moves, and a cursor holds the last row shown rather than a count:
a row that was added or removed meanwhile shifts nothing, and no row is shown twice (C-016, C-061).
"""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeVar, cast

import orjson
from attrs import frozen

from broker.errors import InvalidArgument

VERSION: Final = 1
MAX_CURSOR_CHARS: Final = 512

Item = TypeVar("Item")
Row = dict[str, object]


class RowKey(NamedTuple):
    """Where a row stands. `created_us` is microseconds since the epoch; a row without a time comes first."""

    created_us: int
    id: str

    @classmethod
    def of(cls, created_at: datetime | None, row_id: str) -> RowKey:
        return cls(0 if created_at is None else round(created_at.timestamp() * 1_000_000), row_id)


@frozen
class Page:
    """Some rows as they are shown and, unless these are the last, the cursor for the next ones."""

    rows: list[Row]
    total_count: int
    next_cursor: str | None

    def as_json(self, name: str) -> Row:
        """Return the members of a result: the rows under `name`, `total_count`, and `next_cursor` if there are more."""
        members: Row = {name: self.rows, "total_count": self.total_count}
        return members if self.next_cursor is None else {**members, "next_cursor": self.next_cursor}


def paginate(
    items: Sequence[Item],
    key_of: Callable[[Item], RowKey],
    show: Callable[[Item], Row],
    *,
    tool: str,
    scope: str,
    cursor: str | None,
    page_size: int,
    max_chars: int,
) -> Page:
    """Return the page after `cursor`: at most `page_size` rows and about `max_chars` of JSON, but at least one row.

    Raises:
        InvalidArgument: the cursor is not one that `tool` gave out for `scope` (a notebook id, or empty).
    """
    rest = sorted(((key_of(item), item) for item in items), key=_key)
    if cursor is not None:
        last = decode_cursor(cursor, tool=tool, scope=scope)
        rest = rest[bisect_right(rest, last, key=_key) :]
    rows: list[Row] = []
    chars = 0
    for _, item in rest[:page_size]:
        row = show(item)
        chars += len(orjson.dumps(row))
        if rows and chars > max_chars:
            break
        rows.append(row)
    is_last = len(rows) == len(rest)
    next_cursor = None if is_last else encode_cursor(rest[len(rows) - 1][0], tool=tool, scope=scope)
    return Page(rows, len(items), next_cursor)


def _key(keyed: tuple[RowKey, object]) -> RowKey:
    return keyed[0]


def encode_cursor(last: RowKey, *, tool: str, scope: str) -> str:
    """Return the opaque text for "after `last`"."""
    return base64.urlsafe_b64encode(orjson.dumps([VERSION, tool, scope, last.created_us, last.id])).decode().rstrip("=")


def decode_cursor(cursor: str, *, tool: str, scope: str) -> RowKey:
    """Return the last row shown.

    Raises:
        InvalidArgument: unreadable, or given out by another tool, for another notebook or by another version.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        decoded: object = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError):
        decoded = None
    parts = cast("list[object]", decoded) if isinstance(decoded, list) else []
    if parts[:-2] == [VERSION, tool, scope]:
        created_us, row_id = parts[-2:]
        if isinstance(created_us, int) and isinstance(row_id, str):
            return RowKey(created_us, row_id)
    raise InvalidArgument(
        f"cursor is not one that {tool} gave out here.", hint=f"Call {tool} without a cursor to start again."
    )
