"""Cut lists into pages whose cursors stay valid while the list changes. Pure.

Rows are ordered by (creation time, id), which no edit moves, and a cursor holds the last row shown rather than a count:
a row that was added or removed meanwhile shifts nothing, and no row is shown twice (C-016, C-061).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Generic, TypeVar, cast

import orjson
from attrs import field, frozen

from broker.errors import InvalidArgument

VERSION: Final = 1
MAX_CURSOR_CHARS: Final = 512

Row = TypeVar("Row")


@frozen(order=True)
class RowKey:
    """Where a row stands. `created_us` is microseconds since the epoch; a row without a time comes first."""

    created_us: int
    id: str

    @classmethod
    def of(cls, created_at: datetime | None, row_id: str) -> RowKey:
        return cls(0 if created_at is None else round(created_at.timestamp() * 1_000_000), row_id)


@frozen
class Page(Generic[Row]):
    """Some rows and, unless these are the last, the cursor for the next ones."""

    rows: tuple[Row, ...]
    total_count: int
    next_cursor: str | None = field(default=None)


def paginate(
    rows: Sequence[Row],
    key_of: Callable[[Row], RowKey],
    *,
    tool: str,
    scope: str,
    cursor: str | None,
    page_size: int,
    max_chars: int,
    chars_of: Callable[[Row], int],
) -> Page[Row]:
    """Return the page after `cursor`: at most `page_size` rows and about `max_chars` characters, but at least one row.

    Raises:
        InvalidArgument: the cursor is not one that `tool` gave out for `scope` (a notebook id, or empty).
    """
    ordered = sorted(rows, key=key_of)
    if cursor is not None:
        last = decode_cursor(cursor, tool=tool, scope=scope)
        rest = [row for row in ordered if key_of(row) > last]
    else:
        rest = ordered
    shown: list[Row] = []
    chars = 0
    for row in rest[:page_size]:
        chars += chars_of(row)
        if shown and chars > max_chars:
            break
        shown.append(row)
    is_last = len(shown) == len(rest)
    next_cursor = None if is_last else encode_cursor(key_of(shown[-1]), tool=tool, scope=scope)
    return Page(tuple(shown), len(ordered), next_cursor)


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
