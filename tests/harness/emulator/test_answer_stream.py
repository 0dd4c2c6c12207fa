"""The streamed answer over the wire: order of chunks, citations that hold, spans in three places, refusals, faults."""

import json
from contextlib import aclosing
from typing import Any

import pytest
import trio

from harness.emulator import Emulator
from harness.emulator.seed import (
    DEMO_QUESTION,
    EMPTY_PLAN_ID,
    FOREIGN_CHAT_ID,
    FOREIGN_ID,
    LIGHTHOUSE_ID,
    OWN_CHAT_ID,
    SOURDOUGH_ID,
    UNLISTED_ID,
)
from tests.harness.client import OPTIONS, Control, Page, body_rows, connect, exchange, question_params

CONVERSATION = "c0ffee00-0000-4000-8000-000000000001"
FOREIGN_SOURCE = "50a2ce00-0008-4a00-8b00-000000000001"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def demo(page: Page, conversation: str | None = CONVERSATION) -> list[Any]:
    return await page.ask(DEMO_QUESTION, LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID), conversation)


def kinds(chunks: list[Any]) -> list[int]:
    return [chunk[0][4][4] for chunk in chunks]


def chunk_ids(chunk: Any) -> list[str]:
    return [entry[0][0] for entry in chunk[0][4][3] or []]


def sliced(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def plain_text(elements: Any) -> str:
    return "".join(run[2][0] for element in elements for run in element[2][0])


async def test_thinking_comes_first_and_only_the_last_chunk_is_final(page: Page) -> None:
    chunks = await demo(page)
    assert kinds(chunks) == [2, 2] + [1] * (len(chunks) - 2)
    assert [chunk[4] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert [len(chunk) for chunk in chunks] == [5] * (len(chunks) - 1) + [6]
    assert chunks[-1][3] == [[question for question, _ in chunks[-1][5][0]]]
    assert [kind for _, kind in chunks[-1][5][0]] == [9, 9, 9]


async def test_c063_answer_chunks_are_cumulative_with_one_that_is_not_a_continuation(page: Page) -> None:
    texts = [chunk[0][0] for chunk in await demo(page) if chunk[0][4][4] == 1]
    breaks = [index for index in range(1, len(texts)) if not texts[index].startswith(texts[index - 1])]
    assert len(breaks) == 1
    assert texts[breaks[0] - 1].endswith("[1].")
    assert texts[breaks[0]].endswith("[1, 5].")
    assert texts[-3] == texts[-2] == texts[-1]


async def test_chunk_ids_are_fresh_in_every_chunk_until_the_last_three(page: Page) -> None:
    ids = [chunk_ids(chunk) for chunk in await demo(page)]
    assert ids[-3] == ids[-2] == ids[-1]
    earlier = [one for chunk in ids[:-2] for one in chunk]
    assert len(set(earlier)) == len(earlier)


async def test_the_identity_of_the_turn_is_the_same_on_all_chunks_and_echoes_the_conversation(page: Page) -> None:
    identities = [chunk[0][2] for chunk in await demo(page)]
    assert all(identity == identities[0] for identity in identities)
    assert identities[0][0] == CONVERSATION


async def test_each_citation_is_the_slice_of_the_source_text_that_it_says(page: Page) -> None:
    """The spans index the text that `hizoJc` gives for that source, and the revision is the one of its row."""
    final = (await demo(page))[-1]
    (notebook,) = await page.result("rLM1Ne", [LIGHTHOUSE_ID, None, OPTIONS, None, 0])
    revisions = {row[0][0]: row[2][3][0] for row in notebook[1]}
    assert len(final[1]) == 5
    for citation in final[1]:
        ((source_id,), revision), (span,) = citation[5][0], citation[3]
        document = await page.result("hizoJc", [[source_id], [2], [2]])
        text = plain_text(document[3][0][0])
        quoted = plain_text(citation[4][0])
        assert sliced(text, span[1], span[2]) == quoted
        assert citation[4][0][0][0] == span[1]
        assert revisions[source_id] == revision
        assert 0.5 < citation[2] < 1


async def test_spans_agree_in_all_places_in_every_chunk(page: Page) -> None:
    for chunk in await demo(page):
        record, citations, spans = chunk[0], chunk[1] or [], chunk[2] or []
        body, objects = record[4][0], record[4][3] or []
        text = plain_text(body[0])
        annotations = body[1] if len(body) > 1 else []
        expected = [[[chunk_ids(chunk)[index]], span] for span, indexes in spans for index in indexes]
        assert annotations == expected
        assert [entry[1] for entry in objects] == citations
        assert all(0 <= start < end <= len(text.encode("utf-16-le")) // 2 for (_, start, end), _ in spans)


async def test_a_question_without_a_hit_ends_without_citations(page: Page) -> None:
    final = (await page.ask("xylophone quartz", LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID)))[-1]
    assert (final[1], final[2], final[4]) == (None, None, True)
    assert final[0][4][3] is None


async def test_c080_only_sources_in_scope_are_cited(page: Page) -> None:
    scope = (await page.source_ids(LIGHTHOUSE_ID))[2]
    final = (await page.ask(DEMO_QUESTION, LIGHTHOUSE_ID, [scope]))[-1]
    assert {citation[5][0][0][0] for citation in final[1]} == {scope}


async def test_a_source_that_is_not_ready_is_never_cited(page: Page) -> None:
    final = (await page.ask("salt dough flour", SOURDOUGH_ID, await page.source_ids(SOURDOUGH_ID)))[-1]
    cited = {citation[5][0][0][0] for citation in final[1] or []}
    assert cited <= {"50a2ce00-0002-4a00-8b00-000000000001"}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({1: "x" * 5_501}, 3),
        ({1: " "}, 3),
        ({0: []}, 3),
        ({0: [[[UNKNOWN]]]}, 5),
        ({0: [[[FOREIGN_SOURCE]]]}, 7),
        ({0: [["flat"]]}, 3),
        ({7: FOREIGN_ID}, 7),
        ({7: UNKNOWN}, 5),
        ({7: UNLISTED_ID}, 3),
        ({4: FOREIGN_CHAT_ID}, 7),
        ({3: [2, None, [1], [2]]}, 3),
        ({8: None}, 3),
    ],
)
async def test_a_wrong_slot_is_refused_with_a_status_row(page: Page, change: dict[int, Any], status: int) -> None:
    params = question_params(DEMO_QUESTION, LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID), None)
    for slot, value in change.items():
        params[slot] = value
    reply = await page.ask_raw(params)
    assert reply.status == 200
    assert body_rows(reply.text)[0] == ["wrb.fr", None, None, None, None, [status]]


async def test_a_notebook_without_sources_refuses_any_question(page: Page) -> None:
    reply = await page.ask_raw(question_params("Anything?", EMPTY_PLAN_ID, [], None))
    assert body_rows(reply.text)[0][5] == [3]


async def test_a_conversation_of_another_notebook_is_refused(page: Page) -> None:
    params = question_params("warm shelf", SOURDOUGH_ID, await page.source_ids(SOURDOUGH_ID), OWN_CHAT_ID)
    assert body_rows((await page.ask_raw(params)).text)[0][5] == [3]


async def test_question_and_answer_are_remembered_newest_first(page: Page) -> None:
    chunks = await demo(page)
    assert await page.result("hPTbtc", [OPTIONS, None, LIGHTHOUSE_ID, 20]) == [[[CONVERSATION]]]
    ((answer, question),) = await page.result("khqZz", [OPTIONS, None, None, CONVERSATION, 20])
    assert (question[2], question[3]) == (1, DEMO_QUESTION)
    assert (answer[0], answer[2]) == (chunks[-1][0][2][1], 2)
    stored = answer[4][0]
    assert stored[0] == chunks[-1][0][0]
    assert (len(stored), stored[-1]) == (len(chunks[-1][0]) + 1, chunks[-1][0][4])


async def test_a_null_conversation_continues_the_current_one(page: Page) -> None:
    await demo(page, conversation=None)
    (turns,) = await page.result("khqZz", [OPTIONS, None, None, OWN_CHAT_ID, 20])
    assert [turn[2] for turn in turns] == [2, 1, 2, 1]


async def test_chunks_arrive_one_by_one_as_they_are_produced(page: Page, emulator: Emulator) -> None:
    """With a delay of an hour the first chunk can only be there because it was sent before the second was made."""
    params = question_params(DEMO_QUESTION, LIGHTHOUSE_ID, await page.source_ids(LIGHTHOUSE_ID), CONVERSATION)
    url, body = page.stream_request(params)
    target = url.removeprefix(f"https://{page.host}")
    fields = page.browser.fields(page.host, page.call_headers())
    emulator.service.state.options.chunk_delay_ms = 3_600_000
    stream = await connect(emulator, page.host)
    with trio.fail_after(5):
        async with stream, exchange(stream, "POST", target, fields, body) as (response, pieces):
            assert response.status_code == 200
            first = bytearray()
            async with aclosing(pieces):
                while not first.endswith(b"]]\n"):
                    first += await anext(pieces)
    (row,) = json.loads(first.decode().splitlines()[-1])
    assert json.loads(row[2])[0][4][4] == 2


def spans_of(chunk: Any) -> dict[str, list[tuple[int, int]]]:
    """Return the answer spans (for the tree: the ranges of its elements) as each of the three places has them."""
    body = chunk[0][4][0]
    return {
        "runs": [(element[0], element[1]) for element in body[0]],
        "markers": [(span[1], span[2]) for span, _ in chunk[2]],
        "citations": [(span[1], span[2]) for _, span in body[1]],
    }


@pytest.mark.parametrize("place", ["runs", "markers", "citations"])
async def test_each_of_the_three_places_can_be_shifted_alone(page: Page, control: Control, place: str) -> None:
    before = spans_of((await demo(page))[-1])
    await control.fault("stream", "shift_spans", place=place, by=2)
    after = spans_of((await demo(page))[-1])
    for name, spans in before.items():
        moved = [(start + 2, end + 2) for start, end in spans]
        assert after[name] == (moved if name == place else spans)


@pytest.mark.parametrize("keep", [False, True])
async def test_c066_the_final_answer_can_lose_its_citations(page: Page, control: Control, keep: bool) -> None:
    await control.fault("stream", "ungrounded", keep_markers=keep)
    chunks = await demo(page)
    assert any(chunk[1] for chunk in chunks[:-3])
    assert (chunks[-1][1], chunks[-1][2], chunks[-1][4]) == (None, None, True)
    assert ("[1]" in chunks[-1][0][0]) is keep


async def test_the_final_marker_can_be_missing(page: Page, control: Control) -> None:
    await control.fault("stream", "no_final_marker")
    assert not any(chunk[4] for chunk in await demo(page))
    assert (await demo(page))[-1][4] is True


async def test_c058_a_stream_can_have_no_data_at_all(page: Page, control: Control) -> None:
    await control.fault("stream", "no_data")
    assert await demo(page) == []


async def test_drift_can_hit_the_final_chunk_alone_or_all(page: Page, control: Control) -> None:
    await control.fault("stream", "drift", slot=[0, 4, 4], action="retype", chunks="final")
    assert kinds(await demo(page))[-2:] == [1, "drift"]
    await control.fault("stream", "drift", slot=[0, 4, 4], action="nest")
    assert kinds(await demo(page))[0] == [2]
