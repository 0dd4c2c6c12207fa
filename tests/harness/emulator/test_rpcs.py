"""One test per data call, over the wire: contents from the state, wrapping as recorded, exact parameters, access."""

from typing import Any

import pytest

from harness.emulator.seed import (
    DEFAULT_ALLOWED,
    EMPTY_PLAN_ID,
    FESTIVAL_ID,
    FOREIGN_CHAT_ID,
    FOREIGN_ID,
    GARDEN_PLAN_ID,
    LIGHTHOUSE_ID,
    LIGHTHOUSE_TITLE,
    OWN_CHAT_ID,
    TRAM_STOPS,
    TRAMS_ID,
    UNLISTED_ID,
)
from tests.harness.client import OPTIONS, Browser, Page

VOICES = "50a2ce00-0001-4a00-8b00-000000000002"
FOREIGN_SOURCE = "50a2ce00-0008-4a00-8b00-000000000001"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_wxbhsf_lists_what_the_account_sees_last_viewed_first(page: Page) -> None:
    (rows,) = await page.result("wXbhsf", [None, 1, None, OPTIONS])
    assert [row[2] for row in rows] == [*DEFAULT_ALLOWED, UNLISTED_ID, FESTIVAL_ID]
    assert rows[0][0] == LIGHTHOUSE_TITLE
    assert [row[5][0] for row in rows] == [1] * 6 + [3]
    assert [row[5][1] for row in rows] == [False] * 6 + [True]
    viewed = [tuple(row[5][5]) for row in rows]
    assert viewed == sorted(viewed, reverse=True)
    assert len(next(row for row in rows if row[2] == TRAMS_ID)[1]) == TRAM_STOPS


async def test_rlm1ne_gives_one_notebook_with_all_its_sources(page: Page) -> None:
    (row,) = await page.result("rLM1Ne", [TRAMS_ID, None, OPTIONS, None, 0], f"/notebook/{TRAMS_ID}")
    assert row[2] == TRAMS_ID
    assert len({source[0][0] for source in row[1]}) == TRAM_STOPS


async def test_two_notebooks_have_the_same_title_and_one_of_them_is_empty(page: Page) -> None:
    for notebook_id, sources in ((EMPTY_PLAN_ID, 0), (GARDEN_PLAN_ID, 1)):
        (row,) = await page.result("rLM1Ne", [notebook_id, None, OPTIONS, None, 1])
        assert (row[0], len(row[1] or [])) == ("Plan", sources)


async def test_hizojc_gives_row_and_text_of_a_source(page: Page) -> None:
    row, nothing, also_nothing, (body,) = await page.result("hizoJc", [[VOICES], [2], [2]])
    assert (row[0], nothing, also_nothing) == ([VOICES], None, None)
    assert row[2][8] > row[2][1]  # more tokens than words
    text = "".join(run[2][0] for element in body[0] for run in element[2][0])
    assert all(part in text for part in ("👩‍👩‍👧‍👦", "cafe\u0301", "עיוור", "العدسة"))


async def test_tr032e_gives_summary_and_keywords(page: Page) -> None:
    (((nothing, (summary,), (keywords,), rest),),) = await page.result("tr032e", [[[[VOICES]]]])
    assert (nothing, rest) == (None, [])
    assert summary.startswith("**Voices from the rock 🗼** in short: ")
    assert len(keywords) == len(set(keywords)) == 5


async def test_hptbtc_names_the_newest_conversation_or_none(page: Page) -> None:
    assert await page.result("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 20]) == [[[OWN_CHAT_ID]]]
    assert await page.result("hPTbtc", [[], None, TRAMS_ID, 1]) == []


async def test_khqzz_pages_through_turns_newest_first(page: Page) -> None:
    (first,), cursor = await page.result("khqZz", [OPTIONS, None, None, OWN_CHAT_ID, 1])
    (rest,) = await page.result("khqZz", [[], None, None, OWN_CHAT_ID, 1, cursor])
    assert (first[2], rest[0][2]) == (2, 1)
    assert rest[0][3] == "When can a boat land on the rock?"
    assert (first[3], first[4][0][0][:7]) == (None, "This is")


@pytest.mark.parametrize(
    ("rpc_id", "params", "status"),
    [
        ("rLM1Ne", [UNKNOWN, None, OPTIONS, None, 0], 5),
        ("rLM1Ne", [FOREIGN_ID, None, OPTIONS, None, 0], 7),
        ("hizoJc", [[UNKNOWN], [2], [2]], 5),
        ("hizoJc", [[FOREIGN_SOURCE], [2], [2]], 7),
        ("tr032e", [[[[UNKNOWN]]]], 5),
        ("tr032e", [[[[FOREIGN_SOURCE]]]], 7),
        ("hPTbtc", [OPTIONS, None, FOREIGN_ID, 20], 7),
        ("hPTbtc", [OPTIONS, None, UNKNOWN, 20], 5),
        ("khqZz", [OPTIONS, None, None, FOREIGN_CHAT_ID, 20], 7),
        ("khqZz", [OPTIONS, None, None, UNKNOWN, 20], 5),
    ],
)
async def test_what_is_unknown_or_foreign_is_refused_by_a_status_row(
    page: Page, rpc_id: str, params: list[Any], status: int
) -> None:
    assert await page.status(rpc_id, params) == [status]


@pytest.mark.parametrize(
    ("rpc_id", "params"),
    [
        ("wXbhsf", [None, 1, None]),
        ("wXbhsf", [None, 2, None, OPTIONS]),
        ("wXbhsf", [None, 1, None, [3]]),
        ("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None]),
        ("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 2]),
        ("rLM1Ne", [[LIGHTHOUSE_ID], None, OPTIONS, None, 0]),
        ("rLM1Ne", ["", None, OPTIONS, None, 0]),
        ("hizoJc", [VOICES, [2], [2]]),
        ("hizoJc", [[VOICES], [3], [3]]),
        ("tr032e", [[[VOICES]]]),
        ("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID]),
        ("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 0]),
        ("khqZz", [OPTIONS, None, None, OWN_CHAT_ID, True]),
        ("khqZz", [OPTIONS, None, None, OWN_CHAT_ID, 20, "turns:x"]),
    ],
)
async def test_parameters_of_another_nesting_or_value_are_invalid_arguments(
    page: Page, rpc_id: str, params: list[Any]
) -> None:
    assert await page.status(rpc_id, params) == [3]


async def test_a_call_that_is_not_emulated_is_unimplemented(page: Page) -> None:
    assert await page.status("CCqFvf", ["New", None, None, OPTIONS]) == [12]


async def test_a_shared_notebook_is_seen_by_both_and_a_private_one_by_its_owner(browser: Browser) -> None:
    grace = await browser.open("?authuser=1")
    (rows,) = await grace.result("wXbhsf", [None, 1, None, OPTIONS])
    assert {row[2]: row[5][0] for row in rows} == {FESTIVAL_ID: 1, FOREIGN_ID: 1}
    assert await grace.status("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 0]) == [7]
