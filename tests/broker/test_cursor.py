from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.cursor import Page, RowKey, decode_cursor, encode_cursor, paginate
from broker.errors import InvalidArgument

START = datetime(2026, 1, 1, tzinfo=UTC)
Row = tuple[datetime | None, str]


def rows(count: int) -> list[Row]:
    # Several rows share a time, and some have none: the id decides then.
    return [(None if n % 7 == 0 else START + timedelta(minutes=n // 3), f"id-{n:04}") for n in range(count)]


def page_of(all_rows: list[Row], cursor: str | None, size: int, max_chars: int = 10**9) -> Page:
    return paginate(
        all_rows,
        lambda row: RowKey.of(*row),
        lambda row: {"id": row[1], "padding": "x" * 70},  # 100 characters of JSON
        tool="list_sources",
        scope="nb",
        cursor=cursor,
        page_size=size,
        max_chars=max_chars,
    )


def walk(all_rows: list[Row], size: int, max_chars: int = 10**9) -> list[list[object]]:
    """Return the ids of each page."""
    pages: list[list[object]] = []
    cursor: str | None = None
    while True:
        page = page_of(all_rows, cursor, size, max_chars)
        assert page.total_count == len(all_rows)
        pages.append([row["id"] for row in page.rows])
        cursor = page.next_cursor
        if cursor is None:
            return pages


@pytest.mark.parametrize("count", [0, 1, 50, 51, 100, 101, 237])
@pytest.mark.parametrize("size", [1, 50, 100])
def test_c061_the_union_of_the_pages_is_the_whole_list(count: int, size: int):
    everything = rows(count)
    pages = walk(everything, size)
    assert [row_id for page in pages for row_id in page] == [
        row[1] for row in sorted(everything, key=lambda row: RowKey.of(*row))
    ]
    assert all(pages) or pages == [[]]
    assert len(pages) == max(1, -(-count // size))


@given(count=st.integers(1, 40), size=st.integers(1, 10), removed=st.integers(0, 39), added_minutes=st.integers(-5, 50))
def test_c016_a_list_that_changes_meanwhile_shows_no_row_twice(count: int, size: int, removed: int, added_minutes: int):
    before = rows(count)
    first = page_of(before, None, size)
    after = [row for index, row in enumerate(before) if index != removed]
    after.append((START + timedelta(minutes=added_minutes), "id-new"))
    shown = [row["id"] for row in first.rows]
    cursor = first.next_cursor
    while cursor is not None:
        page = page_of(after, cursor, size)
        shown += [row["id"] for row in page.rows]
        cursor = page.next_cursor
    assert len(shown) == len(set(shown))
    assert {row[1] for row in set(before) & set(after)} <= set(shown)


def test_a_page_that_would_be_too_long_is_shorter_but_never_empty():
    assert [len(page) for page in walk(rows(7), 50, max_chars=350)] == [3, 3, 1]
    assert [len(page) for page in walk(rows(2), 50, max_chars=10)] == [1, 1]


KEY = RowKey(1_700_000_000_000_000, "5e000000-0001-4000-8000-000000000001")
GOOD = encode_cursor(KEY, tool="list_sources", scope="nb")


def test_a_cursor_comes_back_as_the_row_it_holds():
    assert decode_cursor(GOOD, tool="list_sources", scope="nb") == KEY


@pytest.mark.parametrize(
    "cursor",
    [
        "abc",
        "",
        "é",
        "====",
        GOOD[:-3],
        GOOD + "x",
        "x" * 100_000,
        "W10",
        "bnVsbA",
        "WzEsMl0",
        GOOD.replace("W", " ", 1),
    ],
)
def test_c016_garbage_is_refused_and_not_echoed(cursor: str):
    with pytest.raises(InvalidArgument) as caught:
        decode_cursor(cursor, tool="list_sources", scope="nb")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(("tool", "scope"), [("list_notes", "nb"), ("list_sources", "another notebook")])
def test_c016_a_cursor_of_another_tool_or_notebook_is_refused(tool: str, scope: str):
    with pytest.raises(InvalidArgument):
        decode_cursor(GOOD, tool=tool, scope=scope)
