"""Scenario files: what is read, and that whatever is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.scenario import BROWSER_EVENTS, BadScenario, Expectation, parse_scenarios
from harness.scenario_run import BROWSER

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "scenarios.toml"
ONE = '[[scenario]]\nname = "one"\n[[scenario.step]]\n'


def test_a_call_is_read_with_what_is_expected_of_it() -> None:
    text = f'{ONE}call = "list_sources"\nexpect = {{ error = "AUTH_REQUIRED", within_s = 5 }}'
    (scenario,) = parse_scenarios(text)
    (step,) = scenario.step
    assert (scenario.name, scenario.notebook, step.call) == ("one", None, "list_sources")
    assert step.expect == Expectation(error="AUTH_REQUIRED", within_s=5.0)


def test_the_example_of_the_docs_is_read() -> None:
    assert len(parse_scenarios(EXAMPLE.read_text(encoding="utf-8"))) == 4


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("scenario", "not TOML"),
        ("", "scenario"),
        ("scenario = []", "no [[scenario]]"),
        ('[[scenario]]\nname = "empty"\nstep = []', "no [[scenario.step]]"),
        (f'{ONE}cal = "list_sources"', "cal"),
        (f'{ONE}call = "list_sources"\nexpect = {{ eror = "X" }}', "eror"),
        (f"{ONE}arguments = {{}}", "this one does nothing"),
        (f'{ONE}call = "list_sources"\nclear_faults = true', "call and clear_faults"),
        (f'{ONE}clear_faults = true\nexpect = {{ error = "X" }}', "only a call"),
        (f'{ONE}browser = "explode"', "close_tab"),
        (f'{ONE}call = "list_sources"\nexpect = {{ within_s = 0 }}', "above 0"),
        (f'{ONE}call = "a"\n{ONE}call = "b"', "two scenarios"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(text: str, named: str) -> None:
    with pytest.raises(BadScenario) as caught:
        parse_scenarios(text)
    assert named in str(caught.value)


def test_every_event_of_a_browser_can_be_made() -> None:
    assert tuple(sorted(BROWSER)) == BROWSER_EVENTS
