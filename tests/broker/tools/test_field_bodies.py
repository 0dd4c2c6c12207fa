"""The bodies of the field cases as the service's answers, seen as an agent sees them: through the tools.

What each decoder makes of them, cut and split, is in its own test module; here the outcome is an envelope.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import trio

from broker.errors import UpstreamRejected
from broker.fake_companion import FakeCompanion, StreamScript, reply_body, rows_body
from tests.broker.answers import SOURCE_1, SOURCE_2, answer, citation
from tests.broker.session_helpers import Bench, Browser
from tests.shared import case_input

LIST_NOTEBOOKS, READ_NOTEBOOK, READ_SOURCE_TEXT = "wXbhsf", "rLM1Ne", "hizoJc"
NOTEBOOK_ID = "1a2b3c4d-0001-4a00-8b00-00000000000a"
PLAN = reply_body(
    READ_NOTEBOOK,
    [["Plan", [[[SOURCE_1], "One", None, [None, 2]], [[SOURCE_2], "Two", None, [None, 2]]], NOTEBOOK_ID]],
)


def body_of(name: str) -> str:
    return case_input(name).read_bytes().decode()


@asynccontextmanager
async def open_session(tmp_path: Path) -> AsyncGenerator[tuple[Bench, FakeCompanion]]:
    """A session in which one notebook is allowed and selected; source texts cannot be read."""
    home, folder = tmp_path / "home", tmp_path / "project"
    for each in (home, folder):
        each.mkdir()
    (home / "config.toml").write_text('account = "ada@example.com"\n')
    service = FakeCompanion()
    service.answer(READ_NOTEBOOK, PLAN)
    service.answer(READ_SOURCE_TEXT, UpstreamRejected("no text today"))
    async with trio.open_nursery() as nursery:
        bench = Bench(home, folder, cast("Browser", service), nursery)
        bench.allow(NOTEBOOK_ID)
        await bench.result("select_notebook", {"notebook_id": NOTEBOOK_ID})
        yield bench, service
        nursery.cancel_scope.cancel()


def question(request_key: str = "k") -> dict[str, object]:
    return {"question": "What does the plan say?", "request_key": request_key}


async def asked(tmp_path: Path, *pieces: str) -> Any:
    """Return the envelope of a question whose answer stream has these pieces."""
    async with open_session(tmp_path) as (bench, service):
        service.streams = [StreamScript(pieces)]
        return await bench.call("query_notebook", question())


# -- C: what the list shows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["", None])
async def test_c018_an_untitled_notebook_is_listed(tmp_path: Path, title: str | None):
    async with open_session(tmp_path) as (bench, service):
        service.answer(LIST_NOTEBOOKS, reply_body(LIST_NOTEBOOKS, [[[title, None, NOTEBOOK_ID]]]))
        (row,) = (await bench.result("list_notebooks"))["notebooks"]
        assert (row["id"], row["title"], row["confirmed"]) == (NOTEBOOK_ID, "", True)


async def test_c021_a_list_of_zero_rows_still_shows_what_is_allowed(tmp_path: Path):
    """The list is one of recently viewed notebooks; this one was selected by its id all the same."""
    async with open_session(tmp_path) as (bench, service):
        service.answer(LIST_NOTEBOOKS, reply_body(LIST_NOTEBOOKS, [[]]))
        result = await bench.result("list_notebooks")
        assert [(row["id"], row["confirmed"]) for row in result["notebooks"]] == [(NOTEBOOK_ID, False)]
        assert result["session"]["notebook_id"] == NOTEBOOK_ID


# -- I: framing and shapes -------------------------------------------------------------------------------------------


async def test_c054_a_title_with_emoji_is_listed_as_it_is(tmp_path: Path):
    async with open_session(tmp_path) as (bench, service):
        service.answer(LIST_NOTEBOOKS, body_of("C-054-utf16-lengths.txt"))
        (row,) = (await bench.result("list_notebooks"))["notebooks"]
        assert row["title"] == "Überblick 😀 — Teil 2"


async def test_c055_the_closing_row_is_neither_error_nor_code(tmp_path: Path):
    async with open_session(tmp_path) as (bench, service):
        service.answer(READ_NOTEBOOK, body_of("C-055-good-with-e.txt"))
        assert (await bench.result("get_notebook_metadata"))["notebook"]["title"] == "Plan"
        service.answer(READ_NOTEBOOK, PLAN)
        service.streams = [StreamScript([body_of("C-055-rejected-with-e.txt")])]
        error = await bench.error("query_notebook", question())
        assert (error["code"], error["retryable"]) == ("INVALID_ARGUMENT", False)
        assert "status 3" in error["message"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("C-057-numbers-only.txt", "quota or rate limit"),
        ("C-057-with-sentence.txt", "You have reached today's limit. Try again tomorrow."),
    ],
)
async def test_c057_a_quota_refusal_of_a_question_is_said_in_words(tmp_path: Path, name: str, sentence: str):
    async with open_session(tmp_path) as (bench, service):
        service.streams = [StreamScript([body_of(name)])]
        error = await bench.error("query_notebook", question())
        assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
        assert sentence in error["message"]
        assert "type.googleapis.com" not in json.dumps(error)
        assert len(service.sent("stream")) == 1, "asked again only when the agent asks again"


@pytest.mark.parametrize(
    ("tool", "rpc_id"), [("list_notebooks", LIST_NOTEBOOKS), ("list_sources", READ_NOTEBOOK)], ids=["list", "sources"]
)
async def test_c058_an_answer_without_our_method_is_never_an_empty_list(tmp_path: Path, tool: str, rpc_id: str):
    async with open_session(tmp_path) as (bench, service):
        for name, found in (("C-058-other-id.txt", "zzZZ9z"), ("C-058-no-data-frame.txt", rpc_id)):
            service.answer(rpc_id, body_of(name))
            error = await bench.error(tool)
            assert (error["code"], error["retryable"]) == ("UPSTREAM_SCHEMA_DRIFT", False)
            assert rpc_id in error["message"]
            assert found in error["message"]
        service.answer(rpc_id, body_of("C-058-prefix-only.txt"))
        assert (await bench.error(tool))["retryable"] is True


async def test_c059_an_empty_notebook_is_empty_and_a_broken_answer_is_drift(tmp_path: Path):
    async with open_session(tmp_path) as (bench, service):
        service.answer(READ_NOTEBOOK, body_of("C-059-empty-null-slot.txt"))
        result = await bench.result("list_sources")
        assert (result["sources"], result["total_count"]) == ([], 0)
        for name in ("C-059-too-short.txt", "C-059-wrong-type.txt"):
            service.answer(READ_NOTEBOOK, body_of(name))
            assert (await bench.error("list_sources"))["code"] == "UPSTREAM_SCHEMA_DRIFT"


async def test_c060_every_variant_gives_the_same_metadata(tmp_path: Path):
    async with open_session(tmp_path) as (bench, service):
        results: list[Any] = []
        for body in json.loads(body_of("C-060-variants.json")):
            service.answer(READ_NOTEBOOK, body)
            results.append(await bench.result("get_notebook_metadata"))
        assert len(results) == 7
        assert results[0]["notebook"]["title"] == "Plan"
        assert all(result == results[0] for result in results)


# -- J: streamed answers ---------------------------------------------------------------------------------------------


async def test_c062_a_short_answer_is_returned_without_the_thinking(tmp_path: Path):
    envelope = await asked(tmp_path, body_of("C-062-short-answer.txt"))
    assert envelope["result"]["answer"] == "B [1]"
    assert [each["source_id"] for each in envelope["result"]["citations"]] == [SOURCE_1]
    assert "Reading the sources" not in json.dumps(envelope)


async def test_c063_the_text_and_each_citation_are_there_once(tmp_path: Path):
    result = (await asked(tmp_path, body_of("C-063-cumulative.txt")))["result"]
    assert result["answer"] == "The sources name two causes [1, 2]."
    cited = [(each["number"], each["source_id"], each["source_title"]) for each in result["citations"]]
    assert cited == [(1, SOURCE_1, "One"), (2, SOURCE_2, "Two")]


async def test_c064_a_stream_cut_inside_a_frame_is_severed_and_the_next_question_is_answered(tmp_path: Path):
    async with open_session(tmp_path) as (bench, service):
        service.streams = [
            StreamScript([body_of("C-064-cut-inside.txt")]),
            StreamScript([body_of("C-063-cumulative.txt")]),
        ]
        envelope = await bench.call("query_notebook", question("cut"))
        assert envelope["error"]["code"] == "STREAM_SEVERED"
        assert "result" not in envelope
        assert (await bench.result("query_notebook", question("next")))["status"] == "complete"


async def test_c065_the_spans_cut_the_cited_words_out_of_the_text_that_is_returned(tmp_path: Path):
    result = (await asked(tmp_path, body_of("C-065-plain-vs-markdown.txt")))["result"]
    text = result["answer_text"]
    assert text == "Risk: high in Step one of the plan 😀 now."
    spans = [each["answer_span"] for each in result["citations"]]
    assert spans == [{"start": 6, "end": 10}, {"start": 37, "end": 41}]
    assert [text[span["start"] : span["end"]] for span in spans] == ["high", "now."]
    for each in result["citations"]:
        assert each["source_span"] is None
        assert each["source_span_reason"]


@pytest.mark.parametrize("name", ["C-066-final-uncited.txt", "C-066-fake-bracket.txt"])
async def test_c066_what_counts_is_the_final_state(tmp_path: Path, name: str):
    envelope = await asked(tmp_path, body_of(name))
    assert envelope["ok"] is False
    assert envelope["error"]["code"] == "UNGROUNDED_RESPONSE"


# -- K: half pairs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, 1])
async def test_c071_half_pairs_in_titles_and_answers_leave_as_valid_text_of_the_same_length(tmp_path: Path, index: int):
    case = json.loads(body_of("C-071-offsets-lone.json"))[index]
    half: str = json.loads(case["json_text"])
    (span, *_) = case["spans"]
    cited = answer(half, [half], [citation("c1", "q", 0)], [(*span["utf16"], [0])], final=True)
    titled = [[half, [[[SOURCE_1], half, None, [None, 2]]], NOTEBOOK_ID]]
    async with open_session(tmp_path) as (bench, service):
        # `json.dumps` escapes a half pair, as the service does; written raw it would be no UTF-8.
        service.answer(READ_NOTEBOOK, rows_body([["wrb.fr", READ_NOTEBOOK, json.dumps(titled), None, None, None, "g"]]))
        service.streams = [StreamScript([rows_body([["wrb.fr", None, json.dumps(cited)]])])]
        result = await bench.result("query_notebook", question())
        json.dumps(result, ensure_ascii=False).encode()
        text = result["answer_text"]
        assert len(text) == case["codepoint_length"]
        start, end = result["citations"][0]["answer_span"].values()
        assert [start, end] == span["codepoints"]
        assert text[start:end] == span["text"]
        assert "\ufffd" in result["citations"][0]["source_title"]
        (row,) = (await bench.result("list_sources"))["sources"]
        assert "\ufffd" in row["title"]
