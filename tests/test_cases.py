"""`docs/cases.md` says which test holds which case of the field; this keeps the table true."""

from __future__ import annotations

import re
from pathlib import Path

from tests.shared import shared_path

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = "ABCDEFGHIJKLMN"
ROW = re.compile(r"^\| (C-\d{3}) \| [^|]+ \| (.+) \|$", re.MULTILINE)
HELD_BY = re.compile(r"`(tests/[^`]+)`: (?:`(\w+)`|\"([^\"]+)\")")


def cases_of_the_sections() -> set[str]:
    """The ids of the sections that this build covers."""
    section, ids = "", set[str]()
    for line in shared_path("cases/README.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## ([A-N])\. ", line):
            section = heading[1]
        elif (case := re.match(r"### (C-\d{3}) ", line)) and section in SECTIONS:
            ids.add(case[1])
    return ids


def rows() -> dict[str, str]:
    """Case id → the cell that says what holds it."""
    return dict(ROW.findall((ROOT / "docs" / "cases.md").read_text(encoding="utf-8")))


def test_every_case_of_the_covered_sections_has_its_row() -> None:
    assert rows().keys() == cases_of_the_sections()


def test_every_named_test_exists() -> None:
    for case, cell in rows().items():
        held_by = HELD_BY.findall(cell)
        assert held_by or "comes with" in cell, case
        for file, function, title in held_by:
            text = (ROOT / file).read_text(encoding="utf-8")
            wanted = f"def {function}(" if function else f'test("{title}"'
            assert wanted in text, f"{case}: {file} has no {function or title}"
