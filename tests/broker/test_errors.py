"""The taxonomy: one class per code, and what of an error an agent sees."""

from __future__ import annotations

import pytest

from broker import errors
from broker.errors import (
    ERROR_CLASSES,
    ErrorCode,
    GatewayError,
    NotFound,
    UpstreamSchemaDrift,
    failure_envelope,
    success_envelope,
)

META = {"traceparent": "00-x", "mcp_correlation_id": "1"}
ALL_CLASSES = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, GatewayError)}


def test_every_class_but_the_base_stands_in_the_table_under_its_own_code():
    assert set(ERROR_CLASSES.values()) == ALL_CLASSES - {GatewayError}
    assert all(each.code is code for code, each in ERROR_CLASSES.items())


@pytest.mark.parametrize("code", sorted(set(ErrorCode) - {ErrorCode.CANCELLED}))
def test_every_class_says_what_to_do_next(code: ErrorCode):
    """But for CANCELLED: whoever cancelled knows."""
    hint = ERROR_CLASSES[code].hint
    assert hint.endswith(".")


def test_what_is_not_there_is_left_out_of_the_error():
    assert errors.CallCancelled("stopped").as_error() == {
        "code": "CANCELLED",
        "message": "stopped",
        "retryable": False,
    }


def test_one_error_can_be_more_exact_than_its_class_and_leaves_the_class_alone():
    error = NotFound("gone", hint="Look elsewhere.", retryable=True, details={"id": "x"}, started=False)
    assert error.as_error() == {
        "code": "NOT_FOUND",
        "message": "gone",
        "retryable": True,
        "hint": "Look elsewhere.",
        "details": {"id": "x"},
    }
    assert not error.started
    assert NotFound("gone").as_error()["hint"] == NotFound.hint != "Look elsewhere."
    assert NotFound("gone").retryable is False


def test_details_are_a_copy():
    details: dict[str, object] = {"id": "x"}
    error = NotFound("gone", details=details)
    details["secret"] = "later"
    assert error.details == {"id": "x"}


def test_drift_names_call_and_place_in_words_and_as_data():
    error = UpstreamSchemaDrift("rLM1Ne", "$[0][1]", "a list", "text")
    assert error.message == "rLM1Ne: expected a list at $[0][1], saw text"
    assert error.details == {"rpc_id": "rLM1Ne", "path": "$[0][1]", "expected": "a list"}


def test_the_two_envelopes():
    assert failure_envelope(NotFound("gone"), META) == {
        "ok": False,
        "error": NotFound("gone").as_error(),
        "_meta": META,
    }
    assert success_envelope({"a": 1}, META) == {"ok": True, "result": {"a": 1}, "_meta": META}
