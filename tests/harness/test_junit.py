"""The report, read back by a parser that is not ours."""

from __future__ import annotations

from xml.etree import ElementTree

from harness.junit import CaseResult, junit_xml


def test_a_report_tells_passed_failed_and_not_run_apart() -> None:
    results = [
        CaseResult("passes", 1.25),
        CaseResult("fails", 0.5, ["step 1: expected <this> & that", "step 1: more"]),
        CaseResult("does not run", 0.25, error="TooSlowError: "),
    ]
    suite = ElementTree.fromstring(junit_xml("my tools", results))
    assert suite.attrib == {"name": "my tools", "tests": "3", "failures": "1", "errors": "1", "time": "2.000"}
    passed, failed, broken = suite
    assert (passed.attrib["name"], list(passed)) == ("passes", [])
    (failure,) = failed
    assert failure.attrib["message"] == "step 1: expected <this> & that"
    assert failure.text == "step 1: expected <this> & that\nstep 1: more"
    assert [child.tag for child in broken] == ["error"]


def test_characters_that_xml_does_not_have_are_replaced() -> None:
    suite = ElementTree.fromstring(junit_xml("s", [CaseResult("n", 0.0, ["bell \x07, half \ud800, ok \U0001f600"])]))
    assert suite[0][0].text == "bell \ufffd, half \ufffd, ok \U0001f600"
