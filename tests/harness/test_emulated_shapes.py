"""The emulator is held to the recorded traffic: the shape of each answer, made from its own state, was recorded."""

import json
import re
from typing import Any

from harness.emulator.seed import DEMO_QUESTION, EMPTY_PLAN_ID, LIGHTHOUSE_ID, SOURDOUGH_ID
from harness.shapes import ANSWER_ROWS, REQUEST_ROWS, Shape, differences, merged, shape_of
from tests.harness.client import OPTIONS, Page, body_rows, question_params
from tests.shared import recordings

WEB_SOURCE_ID = "50a2ce00-0001-4a00-8b00-000000000004"
GOOGLE_DOCUMENT = "application/vnd.google-apps.document"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
STREAM = "GenerateFreeFormStreamed"


def recorded_values(rpc_id: str) -> list[Any]:
    """Return every decoded result that was recorded for a call, in January or later."""
    lines = recordings(rpc_id, "stream") if rpc_id == STREAM else recordings(rpc_id)
    if rpc_id in ("rLM1Ne", "hPTbtc", "cFji9"):
        lines += recordings(rpc_id, "later")
    bodies = [line["response"]["body"] for line in lines]
    return [json.loads(row[2]) for body in bodies for row in body_rows(body) if row[0] == "wrb.fr" and row[2]]


def recorded_shape(rpc_id: str) -> Shape:
    return merged(shape_of(value, ANSWER_ROWS[rpc_id]) for value in recorded_values(rpc_id))


def unlike_recordings(rpc_id: str, result: Any) -> list[str]:
    return differences(recorded_shape(rpc_id), shape_of(result, ANSWER_ROWS[rpc_id]))


async def test_list_of_notebooks_has_the_recorded_shape(page: Page) -> None:
    result = await page.result("wXbhsf", [None, 1, None, OPTIONS])
    # The seed also has what these two recordings lack: an empty notebook, and sources that are not ready.
    full = [[row for row in result[0] if row[1] is not None and all(source[3] == [None, 2] for source in row[1])]]
    assert len(full[0]) > 3
    assert unlike_recordings("wXbhsf", full) == []


async def test_notebook_has_the_recorded_shape_full_and_empty(page: Page) -> None:
    full = await page.result("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 0], f"/notebook/{LIGHTHOUSE_ID}")
    empty = await page.result("rLM1Ne", [EMPTY_PLAN_ID, None, OPTIONS, None, 0], f"/notebook/{EMPTY_PLAN_ID}")
    lighthouse = [source for source in full[0][1] if source[2][4] != 9]  # a video block was recorded in `wXbhsf` only
    assert unlike_recordings("rLM1Ne", [[full[0][0], lighthouse, *full[0][2:]]]) == []
    assert empty[0][1] is None
    assert unlike_recordings("rLM1Ne", empty) == []


async def test_source_rows_of_every_state_differ_from_recorded_ones_in_nothing_but_missing_counts(page: Page) -> None:
    """Sources that are not ready were never recorded; they may lack the word count and nothing else."""
    result = await page.result("rLM1Ne", [SOURDOUGH_ID, None, OPTIONS, None, 0], f"/notebook/{SOURDOUGH_ID}")
    assert [source[3][1] for source in result[0][1]] == [2, 1, 3, 5]
    found = unlike_recordings("rLM1Ne", result)
    assert found == ["$[0][1][*][2][1]: null, recorded as number"]


async def test_source_text_has_the_recorded_shape(page: Page) -> None:
    result = await page.result("hizoJc", [[WEB_SOURCE_ID], [2], [2]], f"/notebook/{LIGHTHOUSE_ID}")
    assert unlike_recordings("hizoJc", result) == []


async def test_source_text_with_a_list_has_the_recorded_shape_of_a_document(page: Page) -> None:
    """A text source has no web address, which the one recorded page has; the tree itself may hold nothing new."""
    result = await page.result("hizoJc", [["50a2ce00-0001-4a00-8b00-000000000001"], [2], [2]])
    assert unlike_recordings("hizoJc", result) == ["$[0][2][7]: null, recorded as record"]


async def test_source_guide_has_the_recorded_shape(page: Page) -> None:
    result = await page.result("tr032e", [[[[WEB_SOURCE_ID]]]], f"/notebook/{LIGHTHOUSE_ID}")
    assert unlike_recordings("tr032e", result) == []


async def test_added_sources_have_the_recorded_shapes(page: Page) -> None:
    """Text, page and Drive were recorded one by one, so each is compared with its own recording and not with all."""
    client = [1, *[None] * 9, [1]]
    added = {
        "sources_add_text": [[[None, ["T", "Some words."], None, 2, *[None] * 6, 1]], EMPTY_PLAN_ID, OPTIONS],
        "sources_add_url": [[[None, None, ["https://example.com/"], *[None] * 7, 1]], EMPTY_PLAN_ID, OPTIONS],
        "sources_add_drive": [[[["1x", GOOGLE_DOCUMENT, 1, "T"], *[None] * 9, 1]], EMPTY_PLAN_ID, [2], client],
    }
    rows = ANSWER_ROWS["izAoDd"]
    for name, params in added.items():
        (recorded,) = [recorded_result(line) for line in recordings("izAoDd") if line["recording"] == name]
        result = await page.result("izAoDd", params, f"/notebook/{EMPTY_PLAN_ID}")
        assert differences(shape_of(recorded, rows), shape_of(result, rows)) == [], name


async def test_a_registration_has_the_recorded_shape(page: Page) -> None:
    result = await page.result("o4cbdc", [[["a.txt"]], EMPTY_PLAN_ID, OPTIONS], f"/notebook/{EMPTY_PLAN_ID}")
    assert unlike_recordings("o4cbdc", result) == []


async def test_notes_have_the_recorded_shapes(page: Page) -> None:
    path = f"/notebook/{EMPTY_PLAN_ID}"
    created = await page.result("CYK0Xb", [EMPTY_PLAN_ID, "", [1], None, "New Note"], path)
    filled = await page.result("cYAfTb", [EMPTY_PLAN_ID, created[0][0], [[["Text", "Title", [], 0]]]], path)
    assert unlike_recordings("CYK0Xb", created) == []
    assert unlike_recordings("cYAfTb", filled) == []
    deleted = await page.result("AH0mwd", [EMPTY_PLAN_ID, None, [created[0][0]]], path)
    assert deleted == next(recorded_result(line) for line in recordings("AH0mwd")) == []


async def test_lists_of_notes_have_the_recorded_shape(page: Page) -> None:
    """Live rows of plain notes were never recorded in a list; inside they are what the writing calls answer."""
    assert unlike_recordings("cFji9", await page.result("cFji9", [EMPTY_PLAN_ID])) == []
    rows, stamp = await page.result("cFji9", [LIGHTHOUSE_ID])
    plain = [row for row in rows if row[1] is not None and len(row[1][2]) == 3]
    assert unlike_recordings("cFji9", [[row for row in rows if row not in plain], stamp]) == []
    for row in plain:
        assert row[0] == row[1][0]
        assert unlike_recordings("cYAfTb", [row[1]]) == []


async def test_a_deleted_source_leaves_nothing_to_say(page: Page) -> None:
    result = await page.result("tGMBJ", [[[WEB_SOURCE_ID]]], f"/notebook/{LIGHTHOUSE_ID}")
    assert result == next(recorded_result(line) for line in recordings("tGMBJ")) == []


async def test_the_emulator_accepts_every_recorded_write(page: Page) -> None:
    ours: dict[str, str] = {}
    for rpc_id in ("izAoDd", "o4cbdc", "CYK0Xb", "cYAfTb", "AH0mwd", "tGMBJ"):
        for line in recordings(rpc_id):
            params = with_ids(line["request"]["params"], ours)
            result = await page.result(rpc_id, params, f"/notebook/{EMPTY_PLAN_ID}")
            ours |= dict(zip(uuids(recorded_result(line)), uuids(result), strict=False))


def recorded_result(line: dict[str, Any]) -> Any:
    (row,) = [row for row in body_rows(line["response"]["body"]) if row[0] == "wrb.fr"]
    return json.loads(row[2])


def uuids(value: Any) -> list[str]:
    """Return the ids in a result in their order, each once."""
    return list(dict.fromkeys(UUID.findall(json.dumps(value))))


def with_ids(params: Any, ours: dict[str, str]) -> Any:
    """Put our ids in the place of recorded ones; those that no answer has named are notebooks."""
    return json.loads(UUID.sub(lambda found: ours.get(found[0], EMPTY_PLAN_ID), json.dumps(params)))


async def test_conversation_list_has_the_recorded_shape(page: Page) -> None:
    result = await page.result("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 20], f"/notebook/{LIGHTHOUSE_ID}")
    assert unlike_recordings("hPTbtc", result) == []


async def test_streamed_chunks_have_the_recorded_shapes(page: Page) -> None:
    """Thinking, growing and final chunks are compared with their own kind, not with all recorded chunks together."""
    chunks = await page.ask(DEMO_QUESTION, LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID))
    ours, recorded = by_kind(chunks), by_kind(recorded_values(STREAM))
    rows = ANSWER_ROWS[STREAM]
    for kind in ("thinking", "growing", "final"):
        reference = merged(shape_of(value, rows) for value in recorded[kind])
        assert ours[kind]
        for value in ours[kind]:
            assert differences(reference, shape_of(value, rows)) == [], kind


def by_kind(chunks: list[Any]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {"thinking": [], "growing": [], "final": []}
    for chunk in chunks:
        name = "thinking" if chunk[0][4][4] == 2 else "final" if chunk[4] else "growing"
        kinds[name].append(chunk)
    return kinds


async def test_refused_question_has_the_recorded_rows(page: Page) -> None:
    reply = await page.ask_raw(question_params("x" * 10_000, LIGHTHOUSE_ID, [WEB_SOURCE_ID], None))
    (recorded,) = recordings(STREAM, "later")
    rows = [[row[0], *row[1:]] for row in body_rows(recorded["response"]["body"])]
    assert body_rows(reply.text)[0] == rows[0] == ["wrb.fr", None, None, None, None, [3]]
    assert [row[0] for row in body_rows(reply.text)] == [row[0] for row in rows]


async def test_the_emulator_accepts_every_recorded_request(page: Page) -> None:
    """The parameters of the recordings, with ids of ours put in, are what the emulator takes."""
    ids = {"rLM1Ne": 0, "hPTbtc": 2}
    for rpc_id in ("wXbhsf", "rLM1Ne", "hPTbtc"):
        for line in recordings(rpc_id):
            params = line["request"]["params"]
            if rpc_id in ids:
                params[ids[rpc_id]] = LIGHTHOUSE_ID
            assert await page.result(rpc_id, params) is not None
    assert await page.result("hizoJc", [[WEB_SOURCE_ID], *recordings("hizoJc")[0]["request"]["params"][1:]])
    (recorded,) = recordings(STREAM, "stream")
    params = [[[[WEB_SOURCE_ID]]], "When is the fog?", *recorded["request"]["params"][2:]]
    reply = await page.ask_raw(params)
    assert json.loads(body_rows(reply.text)[-4][2])[4] is True
    rows = REQUEST_ROWS[STREAM]
    assert differences(shape_of(recorded["request"]["params"], rows), shape_of(params, rows)) == []
