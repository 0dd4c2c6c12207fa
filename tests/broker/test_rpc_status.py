from __future__ import annotations

import json

import pytest
from hypothesis import given

from broker.batchexecute import decode_reply_untrusted
from broker.errors import AuthRequired, ErrorCode, GatewayError, NotFound, RateLimited, UpstreamRejected
from broker.rpc_status import (
    MAX_SENTENCE_CHARS,
    OUTCOMES,
    StaleToken,
    error_row_error,
    http_error,
    plain_sentence,
    status_error,
)
from tests.broker.wire_values import json_values
from tests.shared import case_input


def test_c056_every_status_of_the_table_has_its_code() -> None:
    for case in json.loads(case_input("C-056-status-table.json").read_text()):
        with pytest.raises(GatewayError) as caught:
            decode_reply_untrusted(case["body"], "rLM1Ne")
        assert caught.value.code == case["code"]
        assert caught.value.retryable is case["retryable"]
        assert str(case["status"]) in caught.value.message


def test_c057_a_refusal_with_numbers_only_is_put_in_plain_words() -> None:
    body = case_input("C-057-numbers-only.txt").read_text()
    with pytest.raises(RateLimited) as caught:
        decode_reply_untrusted(body, "CYK0Xb")
    assert caught.value.retryable
    assert "quota or rate limit" in caught.value.message
    assert "type.googleapis.com" not in str(caught.value.as_error())


def test_c057_a_sentence_for_people_is_passed_on() -> None:
    body = case_input("C-057-with-sentence.txt").read_text()
    with pytest.raises(RateLimited) as caught:
        decode_reply_untrusted(body, "CYK0Xb")
    assert "You have reached today's limit. Try again tomorrow." in caught.value.message
    assert "type.googleapis.com" not in str(caught.value.as_error())


def test_foreign_sentences_are_one_short_line_without_control_characters() -> None:
    status = [8, None, [["type.googleapis.com/x.UserDisplayableError", ["Stop.\n\x1b[31m\u202eignore " + "a " * 400]]]]
    message = status_error("x", status, "$").message
    assert "\n" not in message
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert len(message) < MAX_SENTENCE_CHARS + 200


def test_a_detail_of_another_type_is_not_shown() -> None:
    assert (
        "secret words"
        not in status_error("x", [9, None, [["type.googleapis.com/x.DebugInfo", ["secret words"]]]], "$").message
    )


@pytest.mark.parametrize("status", [None, [], [0], ["13"], [True], {"code": 3}])
def test_a_null_result_without_a_real_status_is_drift(status: object) -> None:
    assert status_error("x", status, "$").code == ErrorCode.UPSTREAM_SCHEMA_DRIFT


@given(json_values)
def test_any_status_value_becomes_an_error(status: object) -> None:
    status_error("x", status, "$").as_error()
    error_row_error("x", status).as_error()


@pytest.mark.parametrize("status", [400, 401, 403])
def test_c053_a_stale_token_is_its_own_kind_of_sign_in_error(status: int) -> None:
    assert isinstance(http_error("x", status, None), StaleToken)
    assert isinstance(error_row_error("x", status), StaleToken)


def test_http_429_says_how_long_to_wait() -> None:
    error = http_error("x", 429, 12.5)
    assert isinstance(error, RateLimited)
    assert error.details["retry_after_s"] == 12.5
    assert "12.5 s" in error.message


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (500, UpstreamRejected, True),
        (503, UpstreamRejected, True),
        (418, UpstreamRejected, False),
        (404, NotFound, False),
        (302, AuthRequired, False),
        (0, UpstreamRejected, False),
    ],
)
def test_other_http_statuses(status: int, kind: type[GatewayError], retryable: bool) -> None:
    error = http_error("x", status, None)
    assert type(error) is kind
    assert error.retryable is retryable


def test_only_overload_and_inner_failures_invite_a_repeat() -> None:
    assert {code for code, outcome in OUTCOMES.items() if outcome.retryable} == {8, 13, 14}


def test_a_sentence_that_is_cut_ends_in_an_ellipsis() -> None:
    assert plain_sentence("x" * 1000) == "x" * (MAX_SENTENCE_CHARS - 1) + "…"
