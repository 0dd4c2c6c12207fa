"""The decision records are complete, indexed, and what they say about the code can be found there.

Rule of the house (docs/adr/README.md): one file per decision, a fixed form, never rewritten, only superseded.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).resolve().parents[1]
ADR_FOLDER = ROOT / "docs" / "adr"
CODE_FOLDERS = (
    "notebook_gateway",
    "broker",
    "cdp",
    "native_host",
    "extension",
    "onboarding",
    "harness",
    "tests",
    "bench",
)

FILE_NAME = re.compile(r"(?P<number>\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
TITLE = re.compile(r"# (?P<name>ADR-\d{3}): (?P<title>\S.*)")
STATUS = re.compile(
    r"Status: (?P<status>Accepted|Superseded by ADR-\d{3}), \d{4}-\d{2}-\d{2}"
    r"(?:\. Refines ADR-\d{3}(?:(?:,| and) ADR-\d{3})*\.)?"
)
SECTIONS = ["## Context", "## Decision", "## Consequences"]
CITATION = re.compile(r"\bADR-\d+\b")
CODE_PATH = re.compile(r"`(?P<path>[a-z_0-9/.-]+(?:/|\.(?:py|js|json|toml)))`")
INDEX_ROW = re.compile(r"\| \[(?P<name>ADR-\d{3})\]\((?P<file>[^)]+)\) \| (?P<title>.+) \| (?P<status>[^|]+) \|")


@frozen
class Record:
    """One decision record as it stands: `name` is ``ADR-011``, `enforced` what follows "Where enforced:"."""

    path: Path
    name: str
    title: str
    status: str
    text: str
    enforced: str


def read_record(path: Path) -> Record:
    """Read one file. Raises AssertionError, naming the file, when it does not have the agreed form."""
    file_name = FILE_NAME.fullmatch(path.name)
    assert file_name is not None, f"{path.name}: want NNNN-words-with-dashes.md"
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    title = TITLE.fullmatch(lines[0])
    assert title is not None, f"{path.name}: the first line is not '# ADR-NNN: title'"
    assert int(title["name"].removeprefix("ADR-")) == int(file_name["number"]), f"{path.name}: holds {title['name']}"
    status = STATUS.fullmatch(lines[2])
    assert status is not None, f"{path.name}: the third line is not a status with a date: {lines[2]!r}"
    assert [line for line in lines if line.startswith("## ")] == SECTIONS, f"{path.name}: wants {SECTIONS}, in order"
    head, _, enforced = text.partition("\nWhere enforced: ")
    assert enforced, f"{path.name}: has no line 'Where enforced: …'"
    assert "## Consequences" in head, f"{path.name}: 'Where enforced' comes last"
    return Record(path, title["name"], title["title"], status["status"], text, enforced)


RECORD_FILES = sorted(path for path in ADR_FOLDER.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("path", RECORD_FILES, ids=lambda path: path.stem)
def test_record_has_the_agreed_form_and_no_empty_section(path: Path) -> None:
    record = read_record(path)
    for section in re.split(r"^## .*$", record.text, flags=re.MULTILINE)[1:]:
        assert section.strip(), f"{path.name}: an empty section"


def test_numbers_run_from_one_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in RECORD_FILES]
    assert numbers == list(range(1, len(numbers) + 1))


def test_index_lists_every_record_with_its_title_and_status() -> None:
    index = (ADR_FOLDER / "README.md").read_text(encoding="utf-8")
    rows = [(row["name"], row["file"], row["title"], row["status"]) for row in INDEX_ROW.finditer(index)]
    records = [read_record(path) for path in RECORD_FILES]
    assert rows == [(record.name, record.path.name, record.title, record.status) for record in records]


@pytest.mark.parametrize("path", RECORD_FILES, ids=lambda path: path.stem)
def test_every_path_named_as_enforcing_exists(path: Path) -> None:
    """A renamed module must not leave a record that points nowhere."""
    enforced = read_record(path).enforced
    named = [match["path"] for match in CODE_PATH.finditer(enforced)]
    assert named or enforced.startswith("nowhere yet"), f"{path.name}: names no module"
    assert [name for name in named if not (ROOT / name).exists()] == []


def citing_files() -> list[Path]:
    """Return all Python and JavaScript files of ours, and all documents."""
    code = [path for folder in CODE_FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".js"}]
    return sorted([*code, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_every_cited_record_exists() -> None:
    known = {read_record(path).name for path in RECORD_FILES}
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in citing_files()
        for name in CITATION.findall(path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert unknown == set()
