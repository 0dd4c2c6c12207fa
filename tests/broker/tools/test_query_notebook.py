from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from broker.calls import CallContext
from broker.errors import CompanionOffline
from harness.emulator import faults
from harness.emulator.model import SourceState
from harness.emulator.seed import DEMO_QUESTION, EMPTY_PLAN_ID, LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, SOURDOUGH_ID
from tests.broker.session_helpers import Bench, open_bench

DIARY, FLOUR, OVEN = (f"50a2ce00-0002-4a00-8b00-{number:012d}" for number in (1, 2, 3))
VOICES = "50a2ce00-0001-4a00-8b00-000000000002"


def question(request_key: str = "k1", **more: object) -> dict[str, object]:
    return {"question": DEMO_QUESTION, "request_key": request_key, **more}


async def select(bench: Bench, notebook_id: str = LIGHTHOUSE_ID) -> None:
    # Selecting reads files in threads, which a jumping clock does not see: time stands still meanwhile.
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    clock.autojump_threshold = math.inf
    await bench.result("select_notebook", {"notebook_id": notebook_id})
    clock.autojump_threshold = 0.0


def asked_sources(bench: Bench) -> list[list[str]]:
    return [[slot[0][0] for slot in params[0]] for params in bench.browser.asked]


async def test_an_answer_comes_with_proven_citations(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        envelope = await bench.call("query_notebook", question())
        result = envelope["result"]
        assert result["status"] == "complete"
        assert result["notebook_id"] == LIGHTHOUSE_ID
        assert result["notebook_title"] == LIGHTHOUSE_TITLE
        assert len(result["sources_asked"]) == 5
        assert envelope["_meta"]["mcp_correlation_id"] == "k1"
        assert "[1]" in result["answer"]
        assert result["citations"]
        texts = {source.id: source for source in bench.browser.state.notebooks[0].sources}
        for citation in result["citations"]:
            assert citation["source_title"] == texts[citation["source_id"]].title
            assert citation["answer_span"] == citation["answer_spans"][0]
            for span in citation["answer_spans"]:
                assert result["answer_text"][span["start"] : span["end"]].strip()
            start, end = citation["source_span"]["start"], citation["source_span"]["end"]
            ctx = CallContext.starting_now(60, "00-x")
            source = await bench.session.upstream.source_text(LIGHTHOUSE_ID, citation["source_id"], ctx)
            assert source.text[start:end] == citation["quote"]


async def test_before_a_selection_nothing_is_asked(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        assert (await bench.error("query_notebook", question()))["code"] == "SESSION_UNLOCKED"
        assert bench.browser.calls == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"request_key": "k"}, "question is required"),
        ({"question": "q"}, "request_key is required"),
        (question(question=" \n"), "question is blank"),
        (question(question=""), "question"),
        (question(request_key=""), "request_key"),
        (question(notebook_id=LIGHTHOUSE_ID), "notebook_id is not known here"),
        (question(source_ids=f'["{VOICES}"]'), "source_ids must be an array, not a string; pass the array itself"),
        (question(source_ids="a,b"), "source_ids must be an array"),
        (question(source_ids=[]), "source_ids has the wrong number of items: at least 1"),
        (question(source_ids=[5]), "source_ids[0] must be a string"),
        (question(source_ids=["x"]), "source_ids[0]"),
        (question(source_ids=None), "source_ids must be an array, not null"),
    ],
)
async def test_c014_c015_wrong_arguments_name_the_field_and_send_nothing(
    tmp_path: Path, autojump_clock: MockClock, arguments: dict[str, object], named: str
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        error = await bench.error("query_notebook", arguments)
        assert error["code"] == "INVALID_ARGUMENT"
        assert named in error["message"]
        assert bench.browser.calls == []


async def test_c080_a_scoped_question_carries_only_its_sources(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        await select(bench, SOURDOUGH_ID)
        ask = {"question": "How long does the starter rest?", "request_key": "a", "source_ids": [DIARY.upper(), DIARY]}
        assert (await bench.result("query_notebook", ask))["sources_asked"] == [DIARY]
        assert asked_sources(bench) == [[DIARY]]


@pytest.mark.parametrize(("source_ids", "code"), [([OVEN], "SOURCE_NOT_READY"), ([DIARY, OVEN], "SOURCE_NOT_READY")])
async def test_c080_a_failed_source_is_named_before_anything_is_sent(
    tmp_path: Path, autojump_clock: MockClock, source_ids: list[str], code: str
):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        await select(bench, SOURDOUGH_ID)
        error = await bench.error("query_notebook", question(source_ids=source_ids))
        assert error["code"] == code
        assert OVEN in error["message"]
        assert bench.browser.asked == []


async def test_c080_an_unknown_source_is_not_found_before_anything_is_sent(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        await select(bench, SOURDOUGH_ID)
        error = await bench.error("query_notebook", question(source_ids=[DIARY, VOICES]))
        assert error["code"] == "NOT_FOUND"
        assert VOICES in error["message"]
        assert bench.browser.asked == []


async def test_c080_without_ids_the_ready_sources_are_asked_and_the_others_named(
    tmp_path: Path, autojump_clock: MockClock
):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        await select(bench, SOURDOUGH_ID)
        result = await bench.result(
            "query_notebook", {"question": "How long does the starter rest?", "request_key": "a"}
        )
        assert result["sources_asked"] == [DIARY]
        assert len(result["sources_left_out"]) == 3


async def test_a_source_that_becomes_ready_in_time_is_waited_for(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, SOURDOUGH_ID) as bench:
        await select(bench, SOURDOUGH_ID)
        flour = next(each for each in bench.browser.state.notebooks if each.id == SOURDOUGH_ID).sources[1]
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def finish_processing() -> None:
                await trio.sleep(10)
                flour.state = SourceState.READY

            ask = {"question": "How much water does the flour take?", "request_key": "a", "source_ids": [FLOUR]}
            await bench.call("query_notebook", ask)
            assert asked_sources(bench) == [[FLOUR]]


async def test_an_empty_notebook_cannot_be_asked(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await select(bench, EMPTY_PLAN_ID)
        assert (await bench.error("query_notebook", question()))["code"] == "SOURCE_NOT_READY"


async def test_c066_an_answer_without_citations_is_refused_and_its_text_marked(
    tmp_path: Path, autojump_clock: MockClock
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        bench.browser.effects = [faults.Ungrounded()]
        envelope = await bench.call("query_notebook", question())
        assert envelope["ok"] is False
        assert "result" not in envelope
        assert envelope["error"]["code"] == "UNGROUNDED_RESPONSE"
        assert envelope["error"]["details"]["ungrounded_text"]


async def test_c064_a_severed_stream_gives_what_had_arrived_and_the_next_question_works(
    tmp_path: Path, autojump_clock: MockClock
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        bench.browser.effects = [faults.NoFinalMarker()]
        error = await bench.error("query_notebook", question())
        assert error["code"] == "STREAM_SEVERED"
        assert error["details"]["partial_text"]
        bench.browser.effects = []
        await bench.result("query_notebook", question("k2"))


async def test_the_same_key_gets_the_same_answer_and_the_service_is_asked_once(
    tmp_path: Path, autojump_clock: MockClock
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        first = await bench.result("query_notebook", question())
        assert await bench.result("query_notebook", question()) == first
        assert len(bench.browser.asked) == 1
        error = await bench.error("query_notebook", {"question": "Another one?", "request_key": "k1"})
        assert error["code"] == "INVALID_ARGUMENT"
        assert "request_key" in error["message"]


async def test_a_long_answer_is_running_after_45_s_and_collected_later(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        bench.browser.state.options.chunk_delay_ms = 8_000.0
        started_at = trio.current_time()
        running = await bench.result("query_notebook", question())
        assert trio.current_time() - started_at == pytest.approx(45.0)
        assert running["status"] == "running"
        assert running["request_key"] == "k1"
        assert running["retry_after_s"] > 0
        assert running["partial_text"]
        assert "citations" not in running
        while (result := await bench.result("query_notebook", question()))["status"] == "running":
            assert trio.current_time() - started_at < 1000
        assert result["citations"]
        assert len(bench.browser.asked) == 1


async def test_c005_a_cancelled_call_only_detaches(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        bench.browser.state.options.chunk_delay_ms = 500.0
        with trio.move_on_after(1.5) as scope:
            await bench.call("query_notebook", question())
        assert scope.cancelled_caught
        assert (await bench.result("query_notebook", question()))["status"] == "complete"
        assert len(bench.browser.asked) == 1


async def test_progress_grows_into_the_answer_and_holds_no_thinking(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        result = await bench.result("query_notebook", question())
        assert bench.progress
        assert result["answer"].startswith(bench.progress[0][:5])
        assert len(bench.progress[-1]) >= len(bench.progress[0])


async def test_a_refusal_before_the_question_left_frees_the_key(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        bench.browser.error = CompanionOffline("gone", started=False)
        assert (await bench.error("query_notebook", question()))["retryable"] is True
        bench.browser.error = None
        assert (await bench.result("query_notebook", question()))["status"] == "complete"


async def test_questions_of_one_session_share_one_conversation_of_their_own(tmp_path: Path, autojump_clock: MockClock):
    """Never the person's: the first question sends none, and the worker mints one."""
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        await bench.result("query_notebook", question("k1"))
        bench.session.conversation = "c0ffee00-0000-4000-8000-000000000001"
        await bench.result("query_notebook", question("k2"))
        assert [params[4] for params in bench.browser.asked] == [None, "c0ffee00-0000-4000-8000-000000000001"]


async def test_first_questions_at_the_same_time_open_one_conversation_in_turn(
    tmp_path: Path, autojump_clock: MockClock
):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await select(bench)
        in_flight: list[int] = []
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(bench.result, "query_notebook", question(f"k{number}"))
            for _ in range(20):
                await trio.sleep(0.05)
                in_flight.append(repr(bench.session.runs).count("3 running"))
        assert len(bench.browser.asked) == 3
        assert any(in_flight)


async def test_what_the_model_says_is_content_and_secrets_in_it_are_masked(tmp_path: Path, autojump_clock: MockClock):
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        log = bench.browser.state.notebooks[0].sources[0]
        log.title = "Log SAPISID=aB3defghijklmno1 end"
        await select(bench)
        envelope = await bench.call("list_sources")
        assert "aB3defgh" not in json.dumps(envelope)
        assert envelope["result"]["sources"][0]["title"] == "Log SAPISID=**************** end"
