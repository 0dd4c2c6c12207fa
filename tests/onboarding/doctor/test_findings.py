"""The table, its page for people, and what mends itself: three places that must say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from notebook_gateway.doctor.fixes import FIXES
from onboarding.doctor.findings import KINDS, MEND, TITLES, Hop
from onboarding.doctor.report import Finding, HopReport, Report, Verdict, not_reached

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^### `(?P<id>[a-z.-]+)`(?P<marks> \([^)]*\))?\n\n(?P<text>.*?)(?=\n#|\Z)", re.MULTILINE | re.DOTALL
)


def test_the_page_has_a_section_for_each_finding_in_the_order_of_the_walk() -> None:
    in_order = [found for hop in Hop for found, kind in KINDS.items() if kind.hop is hop]
    assert [section["id"] for section in SECTION.finditer(PAGE)] == in_order


@pytest.mark.parametrize("section", list(SECTION.finditer(PAGE)), ids=lambda section: section["id"])
def test_a_section_says_what_doctor_says_and_more(section: re.Match[str]) -> None:
    kind = KINDS[section["id"]]
    said = f"{kind.means} **{kind.fix}**\n\n"
    assert section["text"].startswith(said)
    assert len(section["text"]) > len(said) + 20
    assert ("a note" in (section["marks"] or "")) is not kind.is_fatal
    assert ("mended" in (section["marks"] or "")) is kind.is_mended


def test_what_is_called_mended_has_a_fix_and_nothing_else_has() -> None:
    assert {found for found, kind in KINDS.items() if kind.is_mended} == set(FIXES)
    assert all(kind.fix == MEND for kind in KINDS.values() if kind.is_mended)


def test_each_hop_has_a_title_and_something_that_can_be_wrong() -> None:
    assert set(TITLES) == set(Hop)
    # The tab is opened by the first call, whose failure is then reported as the page's.
    assert {kind.hop for kind in KINDS.values()} == set(Hop)


@pytest.mark.parametrize(
    ("hop", "verdict"),
    [
        (HopReport(Hop.READ, "7 notebooks"), Verdict.FINE),
        (HopReport(Hop.SHAPES, "", (Finding("shape.untried", "x"),)), Verdict.NOTE),
        (HopReport(Hop.SHAPES, "", (Finding("shape.untried", "x"), Finding("shape.drift", "y"))), Verdict.WRONG),
        (not_reached(Hop.TAB), Verdict.NOT_REACHED),
    ],
)
def test_one_fatal_finding_makes_a_hop_wrong(hop: HopReport, verdict: Verdict) -> None:
    assert hop.verdict is verdict
    report = Report("1", "/home", (hop,))
    assert report.is_fine is (verdict in (Verdict.FINE, Verdict.NOTE))
    assert report.as_json()["ok"] is report.is_fine


def test_a_finding_that_is_not_in_the_table_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="id"):
        Finding("nonsense", "")
