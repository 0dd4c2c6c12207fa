"""Adding, registering and deleting sources over the wire: exact parameters, real changes, reading that takes time."""

import json
from typing import Any

import h11
import pytest
import trio

from cdp.polling import until
from harness.emulator.seed import EMPTY_PLAN_ID, FESTIVAL_ID, FOREIGN_ID, SOURDOUGH_ID
from tests.harness.client import OPTIONS, Control, Page
from tests.shared import case_input

PATH = f"/notebook/{EMPTY_PLAN_ID}"
CLIENT = [1, *[None] * 9, [1]]
PAGE_URL = "https://example.com/a?b=c&d=e"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def text_spec(title: str = "Title", text: str = "Nine words are in this very short text, really.") -> list[Any]:
    return [None, [title, text], None, 2, *[None] * 6, 1]


def page_spec(url: str = PAGE_URL) -> list[Any]:
    return [None, None, [url], *[None] * 7, 1]


def video_spec(url: str) -> list[Any]:
    return [*[None] * 7, [url], None, None, 1]


def drive_spec(mime_type: str = "application/vnd.google-apps.document") -> list[Any]:
    return [["1DriveFile", mime_type, 1, "My title"], *[None] * 9, 1]


def add(*specs: list[Any], notebook: str = EMPTY_PLAN_ID) -> list[Any]:
    return [list(specs), notebook, OPTIONS]


async def sources(page: Page, notebook: str = EMPTY_PLAN_ID) -> list[Any]:
    (row,) = await page.result("rLM1Ne", [notebook, None, OPTIONS, None, 0], f"/notebook/{notebook}")
    return row[1] or []


async def state_once(page: Page, wanted: int) -> list[Any]:
    """Look at the only source until it is in a state."""

    async def look() -> list[Any] | None:
        (row,) = await sources(page)
        return row if row[3][1] == wanted else None

    with trio.fail_after(5):
        return await until(look)


async def test_a_text_is_read_when_the_answer_comes_and_reads_back_as_it_was(page: Page) -> None:
    ((row,),) = await page.result("izAoDd", add(text_spec(text="# One\n\n**two** words\n")), PATH)
    assert (row[1], row[2][1], row[2][4], row[3]) == ("Title", 4, 4, [None, 2])
    assert await sources(page) == [[*row[:2], row[2][:7], row[3]]]  # the token count is in this answer only
    read = await page.result("hizoJc", [row[0], [2], [2]], PATH)
    texts = [run[2][0] for element in read[3][0][0] for run in element[2][0]]
    assert texts == ["# One", "**two** words"]


async def test_a_page_carries_its_address_and_what_a_test_put_there(page: Page, control: Control) -> None:
    await control.change(web_pages={PAGE_URL: {"title": "A page", "text": "Just a moment..."}})
    ((row,),) = await page.result("izAoDd", add(page_spec()), PATH)
    assert (row[1], row[2][1], row[2][4], row[2][7], row[3]) == ("A page", 3, 5, [PAGE_URL], [None, 2])
    ((other,),) = await page.result("izAoDd", add(page_spec("https://example.com/other")), PATH)
    assert other[2][1] > 100


async def test_c075_two_sources_may_have_one_address(page: Page) -> None:
    for _ in range(2):
        await page.result("izAoDd", add(page_spec()), PATH)
    first, second = await sources(page)
    assert first[0] != second[0]
    assert first[2][7] == second[2][7] == [PAGE_URL]


@pytest.mark.parametrize(
    "url",
    [
        "https://www.youtube.com/watch?v=abc_DEF-123&t=9",
        "https://youtu.be/abc_DEF-123?si=x",
        "https://m.youtube.com/shorts/abc_DEF-123",
        "https://www.youtube.com/live/abc_DEF-123",
    ],
)
async def test_a_video_has_its_block_and_no_page_address(page: Page, url: str) -> None:
    ((row,),) = await page.result("izAoDd", add(video_spec(url)), PATH)
    assert row[2][4:8] == [9, [url, "abc_DEF-123", row[2][5][2]], 1, None]


async def test_an_address_of_no_video_in_the_video_slot_is_refused(page: Page) -> None:
    assert await page.status("izAoDd", add(video_spec("https://example.com/watch?v=1")), PATH) == [3]
    assert await sources(page) == []


async def test_drive_ignores_the_given_title_and_says_the_file_id(page: Page, control: Control) -> None:
    slides = {"mime_type": "application/vnd.google-apps.presentation", "title": "Own name", "text": "Some words."}
    for spec, kind, slot in [
        (drive_spec(), 1, 0),
        (drive_spec("application/vnd.google-apps.spreadsheet"), 7, 9),
        (drive_spec("application/pdf"), 3, 9),
    ]:
        ((row,),) = await page.result("izAoDd", [[spec], EMPTY_PLAN_ID, [2], CLIENT], PATH)
        assert row[1] not in ("My title", "Own name")
        assert (row[2][4], row[2][slot][0], row[3]) == (kind, "1DriveFile", [None, 2])
    await control.change(drive_files={"1DriveFile": slides})
    ((row,),) = await page.result("izAoDd", [[drive_spec()], EMPTY_PLAN_ID, [2], CLIENT], PATH)
    assert (row[1], row[2][4], row[2][0][0]) == ("Own name", 2, "1DriveFile")


async def test_several_sources_are_answered_in_their_order(page: Page) -> None:
    (rows,) = await page.result("izAoDd", add(text_spec("A"), page_spec(), text_spec("B")), PATH)
    assert [rows[0][1], rows[2][1]] == ["A", "B"]
    assert [row[0] for row in await sources(page)] == [row[0] for row in rows]


@pytest.mark.parametrize(
    "params",
    [
        [],
        [[text_spec()], EMPTY_PLAN_ID],
        [[], EMPTY_PLAN_ID, OPTIONS],
        [text_spec(), EMPTY_PLAN_ID, OPTIONS],
        [[text_spec()[:8]], EMPTY_PLAN_ID, OPTIONS],  # the January form with the tail of now
        [[text_spec()], EMPTY_PLAN_ID, [2], None, None],  # and the other way round
        [[text_spec()], EMPTY_PLAN_ID, [2], CLIENT],
        [[text_spec()], EMPTY_PLAN_ID, OPTIONS, None],
        [[[*text_spec()[:3], 3, *text_spec()[4:]]], EMPTY_PLAN_ID, OPTIONS],
        [[[*text_spec(), None]], EMPTY_PLAN_ID, OPTIONS],
        [[text_spec(text="")], EMPTY_PLAN_ID, OPTIONS],
        [[page_spec()[:-1]], EMPTY_PLAN_ID, OPTIONS],
        [[[*page_spec()[:3], 2, *page_spec()[4:]]], EMPTY_PLAN_ID, OPTIONS],
        [[drive_spec()], EMPTY_PLAN_ID, OPTIONS],
        [[[["1DriveFile", "a/b", 2, "T"], *[None] * 9, 1]], EMPTY_PLAN_ID, [2], CLIENT],
        [[text_spec(), "x"], EMPTY_PLAN_ID, OPTIONS],
    ],
)
async def test_a_form_that_no_page_sends_is_refused_and_adds_nothing(page: Page, params: list[Any]) -> None:
    assert await page.status("izAoDd", params, PATH) == [3]
    assert await sources(page) == []


@pytest.mark.parametrize(("notebook", "code"), [(UNKNOWN, 5), (FOREIGN_ID, 7), (FESTIVAL_ID, 7)])
async def test_only_owners_and_editors_write(page: Page, notebook: str, code: int) -> None:
    """Ada may read the festival's notebook and not write into it."""
    assert await page.status("izAoDd", add(text_spec(), notebook=notebook)) == [code]
    assert await page.status("o4cbdc", [[["a.txt"]], notebook, OPTIONS]) == [code]
    assert await page.status("CYK0Xb", [notebook, "", [1], None, "New Note"]) == [code]


async def test_c076_the_limit_is_refused_with_the_same_number_as_bad_parameters(page: Page, control: Control) -> None:
    await control.change(source_limits={EMPTY_PLAN_ID: 1})
    assert await page.status("izAoDd", add(text_spec(), text_spec()), PATH) == [3]
    await page.result("izAoDd", add(text_spec()), PATH)
    assert await page.status("izAoDd", add(text_spec()), PATH) == [3]
    assert await page.status("o4cbdc", [[["a.txt"]], EMPTY_PLAN_ID, OPTIONS], PATH) == [3]
    (row,) = await page.result("rLM1Ne", [EMPTY_PLAN_ID, None, OPTIONS, None, 0], PATH)
    assert (len(row[1]), row[10][2]) == (1, 1)


@pytest.mark.parametrize("tail", [[OPTIONS], [[2], CLIENT]])
async def test_c086_a_registered_file_stays_preparing_without_its_bytes(page: Page, tail: list[Any]) -> None:
    result = await page.result("o4cbdc", [[["Läng 🗼.md"]], EMPTY_PLAN_ID, *tail], PATH)
    stub = [result[0][0][0], "Läng 🗼.md", [None, None, None, None, 0]]
    assert result == [[stub], None, [[stub]]]
    (row,) = await sources(page)
    assert (row[0], row[1], row[2][4], row[3]) == (stub[0], "Läng 🗼.md", 0, [None, 5])


@pytest.mark.parametrize("params", [[[["a"]], EMPTY_PLAN_ID], [["a"], EMPTY_PLAN_ID, OPTIONS], [[["a"]], "", OPTIONS]])
async def test_a_registration_that_no_page_sends_is_refused(page: Page, params: list[Any]) -> None:
    assert await page.status("o4cbdc", params, PATH) == [3]


async def test_deleting_takes_all_named_sources_or_none(page: Page) -> None:
    (rows,) = await page.result("izAoDd", add(text_spec("A"), text_spec("B"), text_spec("C")), PATH)
    assert await page.status("tGMBJ", [[rows[0][0], [UNKNOWN]]], PATH) == [5]
    assert await page.status("tGMBJ", [rows[0][0]], PATH) == [3]
    assert len(await sources(page)) == 3
    assert await page.result("tGMBJ", [[rows[0][0], rows[2][0]]], PATH) == []
    assert [row[1] for row in await sources(page)] == ["B"]


@pytest.mark.parametrize("bare", [True, False])
async def test_commit_then_drop_makes_the_change_and_gives_no_answer(page: Page, control: Control, bare: bool) -> None:
    await control.fault("izAoDd", "commit_then_drop", bare=bare)
    with pytest.raises(h11.RemoteProtocolError):
        await page.call("izAoDd", add(text_spec()), PATH)
    assert [row[1] for row in await sources(page)] == ["Title"]


async def test_commit_then_drop_can_go_silent_instead(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "commit_then_drop", stall=True)
    with trio.move_on_after(0.3) as scope:
        await page.call("izAoDd", add(text_spec()), PATH)
    assert scope.cancelled_caught
    assert len(await sources(page)) == 1


async def test_drop_then_commit_makes_the_change_only_later(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "drop_then_commit", delay_ms=300)
    with pytest.raises(h11.RemoteProtocolError):
        await page.call("izAoDd", add(text_spec()), PATH)
    assert await sources(page) == []
    await a_source_appears(page)


async def a_source_appears(page: Page) -> None:
    with trio.fail_after(5):
        await until(lambda: sources(page))


async def test_drop_then_commit_of_a_bad_call_changes_nothing(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "drop_then_commit", delay_ms=0)
    with pytest.raises(h11.RemoteProtocolError):
        await page.call("izAoDd", [[], EMPTY_PLAN_ID, OPTIONS], PATH)
    assert await sources(page) == []


async def test_c076_a_refusal_can_have_been_an_acceptance(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "status", code=3, commit_after_ms=200)
    assert await page.status("izAoDd", add(text_spec()), PATH) == [3]
    assert await sources(page) == []
    await a_source_appears(page)
    await control.fault("izAoDd", "http_error", http_status=502, commit_after_ms=0)
    assert (await page.call("izAoDd", add(text_spec()), PATH)).status == 502
    assert len(await sources(page)) == 2


async def test_a_fault_can_let_requests_pass_first(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "status", code=13, skip=1, times=2)
    calls = [await page.call("izAoDd", add(text_spec()), PATH) for _ in range(4)]
    assert ["[13]" in call.text for call in calls] == [False, True, True, False]


async def test_slow_reading_is_answered_while_it_goes_on(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "slow_ingest", seconds=0.8)
    ((row,),) = await page.result("izAoDd", add(text_spec()), PATH)
    assert (row[3], len(row[2])) == ([None, 1], 7)
    ready = await state_once(page, 2)
    assert ready[2][1] == 9


@pytest.mark.parametrize("state", [1, 5])
async def test_c078_reading_can_go_on_for_ever(page: Page, control: Control, state: int) -> None:
    await control.fault("izAoDd", "slow_ingest", seconds=None, state=state)
    ((row,),) = await page.result("izAoDd", add(text_spec()), PATH)
    assert row[3] == [None, state]
    assert [source[3] for source in await sources(page)] == [[None, state]]


async def test_failed_reading_says_the_number_of_its_reason(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "fail_ingest", reason=4)
    ((row,),) = await page.result("izAoDd", add(page_spec()), PATH)
    assert row[3] == [None, 3, [*[None] * 6, [4]]]
    await control.fault("izAoDd", "fail_ingest", reason=None, seconds=0)
    ((row,),) = await page.result("izAoDd", add(page_spec()), PATH)
    assert row[3] == [None, 3]


async def test_c079_states_can_be_scripted_look_by_look(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "ingest_states", states=[1, 3, 3, 42, 2])
    ((row,),) = await page.result("izAoDd", add(text_spec()), PATH)
    assert row[3] == [None, 1]
    seen = [(await sources(page))[0][3][1] for _ in range(6)]
    assert seen == [1, 3, 3, 42, 2, 2]


async def test_c078_a_row_can_disappear_while_it_is_read(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "ingest_states", states=[1, 1, None])
    await page.result("izAoDd", add(text_spec()), PATH)
    assert [len(await sources(page)) for _ in range(3)] == [1, 1, 0]


async def test_a_test_that_sets_the_state_has_the_last_word(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "slow_ingest", seconds=0.6)
    ((row,),) = await page.result("izAoDd", add(text_spec()), PATH)
    await control.change(source_states={row[0][0]: 3})
    await trio.sleep(0.2)  # past the time at which the reading would have ended
    assert [source[3] for source in await sources(page)] == [[None, 3]]


async def test_reset_forgets_what_was_still_to_come(page: Page, control: Control) -> None:
    await control.fault("izAoDd", "drop_then_commit", delay_ms=0)
    with pytest.raises(h11.RemoteProtocolError):
        await page.call("izAoDd", add(text_spec()), PATH)
    await control.request("POST", "/reset")
    assert await sources(page) == []


async def test_a_new_source_can_be_asked_about(page: Page) -> None:
    ((row,),) = await page.result(
        "izAoDd", add(text_spec(text="The ferry is painted vermilion."), notebook=SOURDOUGH_ID)
    )
    final = (await page.ask("Which colour has the ferry, vermilion?", SOURDOUGH_ID, [row[0][0]]))[-1]
    assert final[1][0][5][0][0] == row[0]


@pytest.mark.parametrize("entry", json.loads(case_input("C-077-youtube.json").read_text(encoding="utf-8")))
async def test_c077_only_addresses_of_videos_are_taken_in_the_video_slot(page: Page, entry: dict[str, str]) -> None:
    reply = await page.call("izAoDd", add(video_spec(entry["url"])), PATH)
    assert ("[3]" in reply.text) == (entry["slot"] == "web page")
    ((row,),) = await page.result("izAoDd", add(page_spec(entry["url"])), PATH)
    assert row[2][7] == [entry["url"]]
