from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.citations import CitedAnswer, decode_final_answer, require_grounded
from broker.errors import UngroundedResponse, UpstreamSchemaDrift
from broker.slots import Slot
from broker.utf16 import Span, utf16_length
from tests.broker.answers import SOURCE_2, answer, citation
from tests.broker.wire_values import damaged, json_values, list_paths
from tests.shared import recordings


def recorded_final_event() -> Any:
    (entry,) = recordings("GenerateFreeFormStreamed", "stream")
    events = [json.loads(line)[0] for line in entry["response"]["body"].split("\n") if line.startswith('[["wrb.fr"')]
    return json.loads(events[-1][2])


RECORDED = recorded_final_event()
RECORDED_PATHS = list_paths(RECORDED)
EMOJI_ANSWER = answer(
    "**😀 Risk** is high. [1]\n\nNow. [1, 2]",
    ["😀 Risk is high. ", "Now."],
    [citation("c1", "quote one", 5), citation("c2", "quote two", 9, SOURCE_2)],
    [(3, 7, [0]), (17, 21, [0, 1])],
    final=True,
)


def decode(event: Any) -> CitedAnswer:
    return decode_final_answer(Slot(event, "GenerateFreeFormStreamed"))


def changed(event: Any, change: Callable[[Any], None]) -> Any:
    event = copy.deepcopy(event)
    change(event)
    return event


def test_the_recorded_answer_has_all_its_spans_in_agreement() -> None:
    cited = decode(RECORDED)
    assert len(cited.text) == utf16_length(cited.text) == 1593
    assert len(cited.markdown) == 1704
    assert [entry.number for entry in cited.citations] == [1, 2, 3, 4]
    assert [len(entry.answer_spans) for entry in cited.citations] == [6, 1, 1, 1]
    assert cited.citations[0].answer_spans[0] == Span(78, 191)
    covered = cited.citations[0].answer_spans[0].of(cited.text)
    assert covered.startswith("files), which are frequently used")
    assert covered.endswith("with Claude Code")
    for entry in cited.citations:
        assert entry.passage.fault is None
        assert entry.place_utf16 == (entry.passage.start_utf16, entry.passage.end_utf16)
        assert entry.score is not None
        assert 0.6 < entry.score < 0.7


def test_one_citation_may_back_several_spans_and_one_span_several_citations() -> None:
    cited = decode(EMOJI_ANSWER)
    first, second = cited.citations
    assert [span.of(cited.text) for span in first.answer_spans] == ["Risk", "Now."]
    assert [span.of(cited.text) for span in second.answer_spans] == ["Now."]
    assert first.answer_spans == (Span(2, 6), Span(16, 20))


def shift(span: list[Any], by: int) -> None:
    span[1] += by
    span[2] += by


def shift_runs(event: Any, by: int) -> None:
    for element in event[0][4][0][0]:
        for item in (element, *element[2][0]):
            item[0] += by
            item[1] += by


def shift_markers(event: Any, by: int) -> None:
    for row in event[2]:
        shift(row[0], by)


def shift_annotations(event: Any, by: int) -> None:
    for row in event[0][4][0][1]:
        shift(row[1], by)


@pytest.mark.parametrize("by", [-1, 1, 7])
@pytest.mark.parametrize("place", [shift_runs, shift_markers, shift_annotations])
@pytest.mark.parametrize("event", [RECORDED, EMOJI_ANSWER], ids=["recorded", "emoji"])
def test_each_of_the_three_places_shifted_alone_is_caught(event: Any, place: Any, by: int) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode(changed(event, lambda copied: place(copied, by)))


def test_text_that_grew_under_its_offsets_is_caught() -> None:
    def prepend(event: Any) -> None:
        event[0][4][0][0][0][2][0][0][2][0] = "x" + event[0][4][0][0][0][2][0][0][2][0]

    with pytest.raises(UpstreamSchemaDrift, match="offset"):
        decode(changed(RECORDED, prepend))


def test_c070_spans_behind_the_text_are_drift_even_where_both_places_agree() -> None:
    def move_both(event: Any) -> None:
        shift_markers(event, 1000)
        shift_annotations(event, 1000)

    with pytest.raises(UpstreamSchemaDrift, match="inside"):
        decode(changed(EMOJI_ANSWER, move_both))


def test_c069_a_span_that_cuts_an_emoji_covers_all_of_it() -> None:
    event = answer("😀 ok [1]", ["😀 ok"], [citation("c1", "q", 0)], [(1, 3, [0])], final=True)
    cited = decode(event)
    assert cited.citations[0].answer_spans[0].of(cited.text) == "😀 "


def drop_span(event: Any) -> None:
    del event[2][0]


def drop_both(event: Any) -> None:
    event[2] = None
    del event[0][4][0][1]


def unknown_index(event: Any) -> None:
    event[2][0][1] = [9]


def negative_index(event: Any) -> None:
    event[2][0][1] = [-1]


def unknown_chunk(event: Any) -> None:
    event[0][4][0][1][0][0] = ["c9"]


def other_objects(event: Any) -> None:
    event[0][4][3][0][1][5][0][0][0] = SOURCE_2


def reordered(event: Any) -> None:
    event[0][4][3].reverse()


def fewer_objects(event: Any) -> None:
    event[0][4][3] = None


def wrong_key(event: Any) -> None:
    event[0][4][3][0][0] = ["c9"]


def one_id_twice(event: Any) -> None:
    for row in (event[1][1], event[0][4][3][1][1]):
        row[6] = ["c1"]
    event[0][4][3][1][0] = ["c1"]


@pytest.mark.parametrize(
    "damage",
    [
        drop_span,
        drop_both,
        unknown_index,
        negative_index,
        unknown_chunk,
        other_objects,
        reordered,
        fewer_objects,
        wrong_key,
        one_id_twice,
    ],
)
def test_every_other_disagreement_is_drift(damage: Any) -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode(changed(EMOJI_ANSWER, damage))


def test_an_empty_final_event_is_an_answer_that_cites_nothing() -> None:
    assert decode([None, None, None, None, True]) == CitedAnswer("", "")


def test_c066_an_answer_without_citations_is_ungrounded_and_its_text_stays_in_the_details() -> None:
    with pytest.raises(UngroundedResponse) as caught:
        require_grounded(decode(answer("It is certain [1].", ["It is certain ."], final=True)))
    error = caught.value.as_error()
    assert error["details"] == {"ungrounded_text": "It is certain [1]."}
    assert "certain" not in error["message"]


def test_an_answer_with_citations_is_grounded() -> None:
    require_grounded(decode(EMOJI_ANSWER))


@given(json_values)
def test_any_event_decodes_or_drifts(event: object) -> None:
    with contextlib.suppress(UpstreamSchemaDrift):
        decode(event)


@given(st.sampled_from(RECORDED_PATHS), json_values, st.booleans())
def test_the_recorded_event_with_a_damaged_slot_decodes_or_drifts(
    path: tuple[int, ...], replacement: object, cut: bool
) -> None:
    with contextlib.suppress(UpstreamSchemaDrift):
        cited = decode(damaged(RECORDED, path, replacement, cut=cut))
        for entry in cited.citations:
            assert all(0 <= span.start <= span.end <= len(cited.text) for span in entry.answer_spans)
