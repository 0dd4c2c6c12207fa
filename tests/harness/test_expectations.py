"""What an answer is compared with."""

from __future__ import annotations

from typing import Any

import pytest

from harness.expectations import problems_of
from harness.scenario import Expectation

DONE: dict[str, Any] = {"ok": True, "result": {"count": 1, "is_new": True, "sources": [{"title": "Log of 1871"}]}}
FAILED: dict[str, Any] = {
    "ok": False,
    "error": {"code": "AUTH_REQUIRED", "message": "Nobody is signed in.", "hint": "Ask the person to sign in."},
}


@pytest.mark.parametrize(
    ("envelope", "expect"),
    [
        (DONE, Expectation()),
        (DONE, Expectation(values={"sources.0.title": "Log of 1871", "count": 1, "is_new": True})),
        (DONE, Expectation(contains={"sources.0.title": "1871"})),
        (FAILED, Expectation(error="AUTH_REQUIRED", contains={"hint": "sign in"})),
    ],
)
def test_an_answer_as_expected_has_no_problem(envelope: dict[str, Any], expect: Expectation) -> None:
    assert problems_of(envelope, expect) == []


@pytest.mark.parametrize(
    ("envelope", "expect", "named"),
    [
        (DONE, Expectation(error="TIMEOUT"), "expected TIMEOUT, but the call succeeded"),
        (FAILED, Expectation(), "expected success, got AUTH_REQUIRED: Nobody is signed in."),
        (FAILED, Expectation(error="TIMEOUT"), "expected TIMEOUT, got AUTH_REQUIRED"),
        (DONE, Expectation(values={"sources.1.title": "x"}), 'sources.1.title: expected "x", found nothing there'),
        (DONE, Expectation(values={"count": True}), "count: expected true, found 1"),
        (DONE, Expectation(contains={"sources.0.title": "1999"}), "expected a text with '1999', found \"Log of 1871\""),
        (DONE, Expectation(contains={"count": "1"}), "found 1"),
        (DONE, Expectation(values={"sources.title": "x"}), "found nothing there"),
    ],
)
def test_what_is_not_as_expected_is_said(envelope: dict[str, Any], expect: Expectation, named: str) -> None:
    (problem,) = problems_of(envelope, expect)
    assert named in problem


def test_each_value_that_differs_is_a_problem_of_its_own() -> None:
    assert len(problems_of(DONE, Expectation(values={"count": 2, "is_new": False}))) == 2
