"""Notes over the wire: created empty, filled, deleted for good, and listed with everything that shares the list."""

from typing import Any

import h11
import pytest

from harness.emulator.seed import EMPTY_PLAN_ID, FESTIVAL_ID, FOREIGN_ID, LIGHTHOUSE_ID
from tests.harness.client import OPTIONS, Browser, Control, Page

PATH = f"/notebook/{EMPTY_PLAN_ID}"
CREATE = [EMPTY_PLAN_ID, "", [1], None, "New Note"]
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def rows(page: Page, notebook: str = EMPTY_PLAN_ID) -> Any:
    return (await page.result("cFji9", [notebook], f"/notebook/{notebook}"))[0]


async def created(page: Page) -> str:
    (note,) = await page.result("CYK0Xb", CREATE, PATH)
    return note[0]


async def test_a_created_note_is_empty_whatever_was_asked_for(page: Page) -> None:
    (note,) = await page.result("CYK0Xb", [EMPTY_PLAN_ID, "Text", [1], None, "Title"], PATH)
    assert note == [note[0], "", [1, "100000000000000000011", note[2][2]], None, "New Note"]
    assert await rows(page) == [[note[0], note]]


async def test_filling_replaces_text_and_title(page: Page) -> None:
    note_id = await created(page)
    for text, title in [("One\n🚤", "First"), ("", "")]:
        (note,) = await page.result("cYAfTb", [EMPTY_PLAN_ID, note_id, [[[text, title, [], 0]]]], PATH)
        assert (note[0], note[1], note[4]) == (note_id, text, title)
        assert await rows(page) == [[note_id, note]]


async def test_c074_a_deleted_note_stays_in_the_list_for_good(page: Page) -> None:
    first, second = await created(page), await created(page)
    assert await page.result("AH0mwd", [EMPTY_PLAN_ID, None, [first]], PATH) == []
    listed = await rows(page)
    assert listed[0] == [first, None, 2]
    assert listed[1][0] == second
    assert await page.result("AH0mwd", [EMPTY_PLAN_ID, None, [first, UNKNOWN]], PATH) == []  # silently nothing
    assert await rows(page) == listed
    assert await page.status("cYAfTb", [EMPTY_PLAN_ID, first, [[["x", "y", [], 0]]]], PATH) == [5]


async def test_c074_a_notebook_that_never_had_a_note_has_null_for_a_list(page: Page) -> None:
    assert await rows(page) is None
    await page.result("AH0mwd", [EMPTY_PLAN_ID, None, [await created(page)]], PATH)
    assert len(await rows(page)) == 1


async def test_c074_the_seed_has_a_note_a_stub_a_mind_map_and_a_saved_answer(page: Page) -> None:
    note, stub, mind_map, saved = await rows(page, LIGHTHOUSE_ID)
    assert (note[1][2][0], note[1][4]) == (1, "To ask Marta")
    assert stub[1:] == [None, 2]
    assert (mind_map[1][2][0], mind_map[1][2][3], mind_map[1][1][:1]) == (2, 5, "{")
    assert (saved[1][2][0], len(saved[1][2])) == (2, 3)


async def test_the_list_takes_the_parameters_of_the_web_app_too(page: Page) -> None:
    for stamp in (None, [1900000000, 0]):
        assert len((await page.result("cFji9", [LIGHTHOUSE_ID, None, stamp, OPTIONS]))[0]) == 4


@pytest.mark.parametrize(
    ("rpc_id", "params"),
    [
        ("CYK0Xb", CREATE[:4]),
        ("CYK0Xb", [EMPTY_PLAN_ID, "", [2], None, "New Note"]),
        ("CYK0Xb", [EMPTY_PLAN_ID, "", [1], None, None]),
        ("CYK0Xb", [EMPTY_PLAN_ID, "", [1], None, "New Note", None]),
        ("cYAfTb", [EMPTY_PLAN_ID, "{note}", [["x", "y", [], 0]]]),
        ("cYAfTb", [EMPTY_PLAN_ID, "{note}", [[["x", "y", []]]]]),
        ("cYAfTb", [EMPTY_PLAN_ID, "{note}", [[["x", None, [], 0]]]]),
        ("cYAfTb", [EMPTY_PLAN_ID, "{note}", [[["x", "y", [], 1]]]]),
        ("AH0mwd", [EMPTY_PLAN_ID, None, []]),
        ("AH0mwd", [EMPTY_PLAN_ID, None, "{note}"]),
        ("AH0mwd", [EMPTY_PLAN_ID, ["{note}"]]),
        ("cFji9", [EMPTY_PLAN_ID, None]),
        ("cFji9", [EMPTY_PLAN_ID, None, None, [3]]),
    ],
)
async def test_a_form_that_no_page_sends_is_refused_and_changes_nothing(
    page: Page, rpc_id: str, params: list[Any]
) -> None:
    note_id = await created(page)
    before = await rows(page)
    sent = [note_id if slot == "{note}" else slot for slot in params]
    assert await page.status(rpc_id, sent, PATH) == [3]
    assert await rows(page) == before


@pytest.mark.parametrize(("notebook", "code"), [(UNKNOWN, 5), (FOREIGN_ID, 7)])
async def test_notes_of_strangers_are_neither_listed_nor_changed(page: Page, notebook: str, code: int) -> None:
    for rpc_id, params in [
        ("cFji9", [notebook]),
        ("cYAfTb", [notebook, UNKNOWN, [[["x", "y", [], 0]]]]),
        ("AH0mwd", [notebook, None, [UNKNOWN]]),
    ]:
        assert await page.status(rpc_id, params) == [code]


async def test_a_reader_of_a_shared_notebook_lists_notes_and_changes_none(browser: Browser) -> None:
    ada, grace = await browser.open(), await browser.open("?authuser=1")
    (note,) = await grace.result("CYK0Xb", [FESTIVAL_ID, "", [1], None, "New Note"])
    assert await rows(ada, FESTIVAL_ID) == [[note[0], note]]
    assert await ada.status("AH0mwd", [FESTIVAL_ID, None, [note[0]]]) == [7]


async def test_a_note_of_another_notebook_is_not_found(page: Page) -> None:
    note_id = await created(page)
    assert await page.status("cYAfTb", [LIGHTHOUSE_ID, note_id, [[["x", "y", [], 0]]]]) == [5]
    assert await page.result("AH0mwd", [LIGHTHOUSE_ID, None, [note_id]]) == []
    assert (await rows(page))[0][1] is not None


@pytest.mark.parametrize("rpc_id", ["CYK0Xb", "cYAfTb", "AH0mwd"])
async def test_commit_then_drop_changes_notes_without_an_answer(page: Page, control: Control, rpc_id: str) -> None:
    note_id = await created(page)
    params = {
        "CYK0Xb": CREATE,
        "cYAfTb": [EMPTY_PLAN_ID, note_id, [[["x", "y", [], 0]]]],
        "AH0mwd": [EMPTY_PLAN_ID, None, [note_id]],
    }[rpc_id]
    before = await rows(page)
    await control.fault(rpc_id, "commit_then_drop")
    with pytest.raises(h11.RemoteProtocolError):
        await page.call(rpc_id, params, PATH)
    assert await rows(page) != before


async def test_notes_can_be_put_there_by_a_test(page: Page, control: Control) -> None:
    await control.change(
        add_notes=[
            {"notebook": EMPTY_PLAN_ID, "title": "Own", "text": "x"},
            {"notebook": EMPTY_PLAN_ID, "title": "Map", "text": "{}", "kind": 2, "mapped_sources": [UNKNOWN]},
            {"notebook": EMPTY_PLAN_ID, "title": "Gone", "deleted": True},
        ]
    )
    own, mind_map, gone = await rows(page)
    assert (own[1][4], mind_map[1][2][3:], gone[1:]) == ("Own", [5, [[UNKNOWN]]], [None, 2])
    state = (await control.request("GET", "/state")).json()
    notes = next(notebook for notebook in state["notebooks"] if notebook["id"] == EMPTY_PLAN_ID)["notes"]
    assert [(note["title"], note["kind"], note["deleted"]) for note in notes] == [
        ("Own", 1, False),
        ("Map", 2, False),
        ("Gone", 1, True),
    ]
