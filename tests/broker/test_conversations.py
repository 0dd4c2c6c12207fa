from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given

from broker.batchexecute import decode_reply_untrusted
from broker.conversations import Conversation, Turn, decode_conversations, decode_turns
from broker.errors import UpstreamSchemaDrift
from tests.broker.wire_values import json_values
from tests.shared import recordings

ID = "d6e2d1ab-5fdb-42b1-a5bc-4973e84bc5d3"
AT = datetime(2026, 10, 1, tzinfo=UTC)
AT_WIRE = [int(AT.timestamp()), 0]


def test_recorded_conversations_decode() -> None:
    for entry in [*recordings("hPTbtc"), *recordings("hPTbtc", "later")]:
        (conversation,) = decode_conversations(decode_reply_untrusted(entry["response"]["body"], "hPTbtc"))
        assert conversation.created_at is None


def test_later_answers_carry_times() -> None:
    assert decode_conversations([[[ID, AT_WIRE, AT_WIRE]]]) == [Conversation(ID, AT, AT)]


@pytest.mark.parametrize("payload", [[], [None], [[]]])
def test_no_conversation_is_an_empty_list(payload: object) -> None:
    assert decode_conversations(payload) == []


def test_turns_are_questions_and_answers_newest_first() -> None:
    record = ["The answer [1].", None, ["session", "turn", 1]]
    page = decode_turns([[["t2", AT_WIRE, 2, None, [record]], ["t1", AT_WIRE, 1, "Why?"]], "next"])
    assert page.turns == (
        Turn("t2", AT, "model", 2, "The answer [1]."),
        Turn("t1", AT, "person", 1, "Why?"),
    )
    assert page.cursor == "next"


def test_an_unknown_kind_of_turn_is_listed_without_text() -> None:
    (turn,) = decode_turns([[["t", None, 9]]]).turns
    assert (turn.speaker, turn.kind_code, turn.text) == ("unknown", 9, None)


def test_the_last_page_has_no_cursor() -> None:
    assert decode_turns([[]]).cursor is None


def test_an_answer_turn_without_its_record_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        decode_turns([[["t", None, 2]]])


@given(json_values)
def test_any_payload_decodes_or_drifts(payload: object) -> None:
    for decode in (decode_conversations, decode_turns):
        with contextlib.suppress(UpstreamSchemaDrift):
            decode(payload)
