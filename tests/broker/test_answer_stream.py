from __future__ import annotations

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.answer_stream import AnswerDecoder, AnswerState, Phase
from broker.citations import require_grounded
from broker.errors import (
    AuthRequired,
    GatewayError,
    InvalidArgument,
    RateLimited,
    StreamSevered,
    UngroundedResponse,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.fake_companion import rows_body, status_body, stream_body
from broker.rpc_status import StaleToken
from tests.broker.answers import SOURCE_1, SOURCE_2, answer, citation, thinking
from tests.broker.wire_values import json_values
from tests.shared import case_input, recordings


def read(body: str, pieces: int | None = None) -> list[AnswerState]:
    decoder = AnswerDecoder()
    states: list[AnswerState] = []
    step = pieces or max(1, len(body))
    for start in range(0, len(body), step):
        states += decoder.feed_untrusted(body[start : start + step])
    return states + decoder.end()


def case_body(name: str) -> str:
    return case_input(name).read_bytes().decode()


def recorded_body() -> str:
    (entry,) = recordings("GenerateFreeFormStreamed", "stream")
    return entry["response"]["body"]


GOOD = stream_body(
    [
        thinking("**Looking**\n\nI read."),
        answer("The sources", ["The sources"]),
        answer("The sources agree 😀 [1]", ["The sources agree 😀"], [citation("a", "q", 3)], [(0, 20, [0])]),
        answer(
            "The sources agree 😀 [1]", ["The sources agree 😀"], [citation("b", "q", 3)], [(0, 20, [0])], final=True
        ),
    ]
)


def test_the_recorded_stream_ends_in_its_final_answer() -> None:
    states = read(recorded_body())
    assert [state.phase for state in states] == [Phase.THINKING] * 2 + [Phase.ANSWER] * 16 + [Phase.FINAL]
    final = states[-1].answer
    assert final is not None
    assert final.markdown == states[-1].text
    assert len(final.citations) == 4
    # Recorded chunk 13 to 14 turns [1] into [1, 4]: a replacement, every other one continues the text.
    assert [index for index, state in enumerate(states[2:], start=2) if state.added is None] == [13]


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_the_recorded_stream_reads_the_same_in_pieces(piece: int) -> None:
    assert read(recorded_body(), piece) == read(recorded_body())


@settings(max_examples=50)
@given(st.sets(st.integers(1, len(GOOD) - 1), max_size=20))
def test_any_split_gives_the_same_states(cuts: set[int]) -> None:
    decoder = AnswerDecoder()
    states: list[AnswerState] = []
    edges = [0, *sorted(cuts), len(GOOD)]
    for start, end in itertools.pairwise(edges):
        states += decoder.feed_untrusted(GOOD[start:end])
    assert states + decoder.end() == read(GOOD)


def test_a_pair_cut_between_two_pieces_is_put_together_again() -> None:
    high, low = "😀".encode("utf-16-le")[:2].decode("utf-16-le", "surrogatepass"), "\ude00"
    before, after = GOOD.split("😀", 1)
    decoder = AnswerDecoder()
    states = decoder.feed_untrusted(before + high)
    states += decoder.feed_untrusted(low + after)
    assert states + decoder.end() == read(GOOD)


@pytest.mark.parametrize("piece", [None, 1])
def test_c062_a_short_answer_is_the_answer_and_thinking_is_not(piece: int | None) -> None:
    states = read(case_body("C-062-short-answer.txt"), piece)
    assert [state.phase for state in states] == [Phase.THINKING, Phase.FINAL]
    assert states[-1].answer is not None
    assert states[-1].answer.markdown == "B [1]"
    assert len(states[-1].answer.citations) == 1


@pytest.mark.parametrize("piece", [None, 1])
def test_c063_later_chunks_replace_earlier_ones(piece: int | None) -> None:
    states = read(case_body("C-063-cumulative.txt"), piece)
    final = states[-1].answer
    assert final is not None
    assert final.markdown == "The sources name two causes [1, 2]."
    assert [(entry.number, entry.source_id) for entry in final.citations] == [(1, SOURCE_1), (2, SOURCE_2)]
    text = ""
    for state in states:
        text = state.text if state.added is None else text + state.added
        assert text == state.text
    assert [state.added is None for state in states] == [False, False, True, False, False]


def test_c064_a_cut_stream_is_severed_with_what_had_arrived() -> None:
    with pytest.raises(StreamSevered) as caught:
        read(case_body("C-064-cut-inside.txt"))
    assert caught.value.details["partial_text"] == "The sources name two causes [1, 2]."
    assert caught.value.retryable


def test_c064_every_cut_before_the_final_event_is_severed() -> None:
    final_starts = GOOD.rindex('[["wrb.fr"')
    for cut in range(0, final_starts + 20, 7):
        with pytest.raises(StreamSevered):
            read(GOOD[:cut])


def test_a_stream_cut_behind_its_final_event_has_the_whole_answer() -> None:
    cut = GOOD.rindex('[["e"')
    assert read(GOOD[:cut])[-1].phase == Phase.FINAL


def test_c065_spans_index_the_plain_document_text() -> None:
    final = read(case_body("C-065-plain-vs-markdown.txt"))[-1].answer
    assert final is not None
    assert final.text == "Risk: high in Step one of the plan 😀 now."
    first, second = (entry.answer_spans[0] for entry in final.citations)
    assert (first.start, first.end, first.of(final.text)) == (6, 10, "high")
    assert (second.start, second.end, second.of(final.text)) == (37, 41, "now.")


@pytest.mark.parametrize("name", ["C-066-final-uncited.txt", "C-066-fake-bracket.txt"])
def test_c066_grounding_is_judged_on_the_final_state(name: str) -> None:
    final = read(case_body(name))[-1].answer
    assert final is not None
    with pytest.raises(UngroundedResponse):
        require_grounded(final)


def test_c066_an_uncited_first_chunk_is_no_obstacle() -> None:
    final = read(case_body("C-063-cumulative.txt"))[-1].answer
    assert final is not None
    require_grounded(final)


def test_c055_a_rejected_question_is_an_invalid_argument_with_a_useful_hint() -> None:
    with pytest.raises(InvalidArgument, match="status 3") as caught:
        read(case_body("C-055-rejected-with-e.txt"))
    assert "5,500" in caught.value.hint


def test_the_recorded_rejection_is_an_invalid_argument() -> None:
    (entry,) = recordings("GenerateFreeFormStreamed", "later")
    with pytest.raises(InvalidArgument):
        read(entry["response"]["body"])


@pytest.mark.parametrize("name", ["C-057-numbers-only.txt", "C-057-with-sentence.txt"])
def test_c057_a_quota_refusal_in_the_stream_is_rate_limited(name: str) -> None:
    with pytest.raises(RateLimited, match="quota or rate limit"):
        read(case_body(name))


def test_a_stream_without_any_event_means_that_the_quota_is_used_up() -> None:
    with pytest.raises(RateLimited, match="quota"):
        read(rows_body([]))


def test_heartbeats_are_nothing() -> None:
    event = answer("B [1]", ["B"], [citation("a", "q", 0)], [(0, 1, [0])], final=True)
    assert [state.phase for state in read(stream_body([[], event, []]))] == [Phase.FINAL]


def test_heartbeats_alone_are_a_severed_stream() -> None:
    with pytest.raises(StreamSevered):
        read(stream_body([[], []]))


def test_no_final_marker_is_a_severed_stream_even_when_it_is_closed_properly() -> None:
    with pytest.raises(StreamSevered, match="final marker") as caught:
        read(stream_body([answer("Half", ["Half"])]))
    assert caught.value.details["partial_text"] == "Half"


def test_a_status_after_some_text_severs_the_stream_and_says_why() -> None:
    rows = [["wrb.fr", None, json.dumps(answer("Half", ["Half"]))], ["wrb.fr", None, None, None, None, [13]]]
    with pytest.raises(StreamSevered, match="status 13") as caught:
        read(rows_body(rows))
    assert caught.value.details == {"cause": "UPSTREAM_REJECTED", "partial_text": "Half"}


def test_an_error_row_is_an_error_of_its_number() -> None:
    for code, kind in ((401, StaleToken), (500, UpstreamRejected)):
        with pytest.raises(kind):
            read(rows_body([["er", None, code]]))


def test_rows_after_the_final_event_change_nothing() -> None:
    event = answer("B [1]", ["B"], [citation("a", "q", 0)], [(0, 1, [0])], final=True)
    rows = [["wrb.fr", None, json.dumps(event)], ["wrb.fr", None, None, None, None, [13]]]
    assert [state.phase for state in read(rows_body(rows))] == [Phase.FINAL]


def test_an_empty_final_answer_is_there_to_be_refused_as_ungrounded() -> None:
    final = read(stream_body([[None, None, None, None, True]]))[-1].answer
    assert final is not None
    with pytest.raises(UngroundedResponse):
        require_grounded(final)


@pytest.mark.parametrize("kind", [None, 3, "1"])
def test_text_of_an_unknown_kind_is_drift_and_never_a_skipped_event(kind: Any) -> None:
    event = answer("Text", ["Text"])
    event[0][4][4] = kind
    with pytest.raises(UpstreamSchemaDrift, match=r"\$\[0\]\[4\]"):
        read(stream_body([event]))


def test_a_thinking_note_with_the_final_flag_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        read(stream_body([[*thinking("T")[:4], True]]))


def test_a_web_page_means_signed_out() -> None:
    with pytest.raises(AuthRequired):
        read("<!doctype html>\n<html>")


def test_a_status_body_of_another_shape_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        read(status_body("x", "nine"))


@given(st.lists(json_values, max_size=3))
def test_any_events_give_states_or_one_of_our_errors(events: list[object]) -> None:
    with contextlib.suppress(GatewayError):
        read(stream_body(json.loads(json.dumps(events).replace("\\ud", "\\u0"))))
