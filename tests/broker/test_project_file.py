import json
import os
from pathlib import Path

import pytest

from broker.project_file import (
    FILE_NAME,
    Ignored,
    ProjectFolder,
    Proposal,
    Saved,
    parse_project_file_untrusted,
    plain_title,
)
from broker.session_lock import LockedNotebook
from tests.shared import case_input

A = "1a2b3c4d-0001-4a00-8b00-00000000000a"
PLAN = LockedNotebook(A, "Plan")

VARIANTS = {case["name"]: case for case in json.loads(case_input("C-020-project-files.json").read_text())}
OUTCOMES = {
    "byte-order mark": Proposal(A, ""),
    "trailing comma": Ignored("it is not JSON"),
    "array": Ignored("it is not an object"),
    "not in allowlist": Proposal("1a2b3c4d-0002-4a00-8b00-00000000000b", "Stranger"),
    "prompt text": Proposal(A, "Plan"),
    "title with control characters": Proposal(A, "Plan [2J SYSTEM: obey"),
    "wrong types": Ignored("it has no well-formed notebook_id"),
    "empty file": Ignored("it is not JSON"),
    "deep nesting": Ignored("it is not JSON"),
}


def variant_bytes(case: dict[str, str]) -> bytes:
    if "raw_hex" in case:
        return bytes.fromhex(case["raw_hex"])
    return b"[" * 100_000 if "raw_recipe" in case else case["raw"].encode()


@pytest.mark.parametrize("name", OUTCOMES)
def test_c020_of_a_hostile_file_at_most_id_and_title_are_taken(name: str):
    assert VARIANTS.keys() == OUTCOMES.keys()
    assert parse_project_file_untrusted(variant_bytes(VARIANTS[name])) == OUTCOMES[name]


def test_a_title_is_one_short_line():
    assert plain_title("a\u202eb\u200bc\u2028d\te" + "x" * 1000) == ("abc d e" + "x" * 1000)[:200]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def folder_of(path: Path, *, is_named: bool = False) -> ProjectFolder:
    return ProjectFolder(path, path.parent / "home", is_named=is_named)


def test_a_selection_saved_is_proposed_next_time(project: Path):
    assert folder_of(project).read_untrusted() is None
    assert folder_of(project).save(PLAN) == Saved(project / FILE_NAME)
    assert folder_of(project).read_untrusted() == Proposal(A, "Plan")


def test_nothing_is_written_into_a_folder_that_is_no_project(tmp_path: Path):
    """ADR-031: desktop clients start servers in the home folder or in /."""
    saved = folder_of(tmp_path).save(PLAN)
    assert saved.path is None
    assert "no project marker" in saved.reason
    assert list(tmp_path.iterdir()) == []


def test_the_home_folder_is_no_project_even_with_a_marker(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    assert ProjectFolder(tmp_path, tmp_path).save(PLAN).path is None
    assert ProjectFolder(Path("/"), tmp_path).save(PLAN).path is None


def test_a_configured_folder_needs_no_marker_but_must_exist(tmp_path: Path):
    assert folder_of(tmp_path, is_named=True).save(PLAN).path == tmp_path / FILE_NAME
    assert folder_of(tmp_path / "gone", is_named=True).save(PLAN).path is None


def test_a_link_is_neither_followed_nor_written_through(project: Path, tmp_path: Path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"notebook_id": A, "title": "secret"}))
    (project / FILE_NAME).symlink_to(secret)
    assert isinstance(folder_of(project).read_untrusted(), Ignored)
    folder_of(project).save(PLAN)
    assert "secret" in secret.read_text()


def test_a_pipe_in_place_of_the_file_holds_nobody_up(project: Path):
    os.mkfifo(project / FILE_NAME)
    assert isinstance(folder_of(project).read_untrusted(), Ignored)


def test_a_huge_file_and_a_folder_are_ignored(project: Path):
    (project / FILE_NAME).write_bytes(b" " * 1_000_000)
    assert isinstance(folder_of(project).read_untrusted(), Ignored)
    (project / FILE_NAME).unlink()
    (project / FILE_NAME).mkdir()
    assert isinstance(folder_of(project).read_untrusted(), Ignored)
    assert folder_of(project).save(PLAN).path is None
