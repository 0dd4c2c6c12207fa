"""The architecture page stays short, and what it says about the code can be found there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import pytest

from broker import journal_states, session_lock

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

MAX_LINES = 250
CODE_PATH = re.compile(r"`(?P<path>[a-z_0-9.-]+/(?:[a-z_0-9.-]+/)*(?:[a-z_0-9.-]+\.(?:py|js|json|toml))?)`")
STATE_ROW = re.compile(r"^\| `(?P<state>[A-Z_]+)` \| `(?P<event>[A-Z_]+)` \| `(?P<next>[A-Z_]+)` \|$", re.MULTILINE)
FOLDERS_OF_THE_HOME = {"run/", "logs/"}


def test_page_is_short_and_has_one_diagram() -> None:
    assert len(PAGE.splitlines()) < MAX_LINES
    assert PAGE.count("```mermaid") == 1


def test_every_module_and_folder_named_on_the_page_exists() -> None:
    named = {match["path"] for match in CODE_PATH.finditer(PAGE)} - FOLDERS_OF_THE_HOME
    assert named, "the page names modules"
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize(
    ("heading", "in_code"),
    [("The session lock", session_lock.TRANSITIONS), ("Life of a write", journal_states.TRANSITIONS)],
)
def test_a_state_table_on_the_page_is_the_table_in_the_code(
    heading: str, in_code: Mapping[Enum, Mapping[Enum, Enum]]
) -> None:
    """ADR-011, ADR-005: the table is the rule; the page only shows it."""
    (section,) = (part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE) if part.startswith(heading))
    rows = STATE_ROW.findall(section)
    of_code = {
        (state.name, event.name, following.name)
        for state, events in in_code.items()
        for event, following in events.items()
    }
    assert set(rows) == of_code
    assert len(rows) == len(of_code)


def test_the_pages_files_are_named_in_the_order_in_which_they_run() -> None:
    manifest = json.loads((ROOT / "extension" / "manifest.json").read_text(encoding="utf-8"))
    (in_main_world,) = (each["js"] for each in manifest["content_scripts"] if each.get("world") == "MAIN")
    _, _, reading_order = PAGE.partition("the order in which they run")
    named = re.findall(r"`(?:extension/)?(page-[a-z-]+\.js)`", reading_order)
    assert named == in_main_world


def test_import_direction_on_the_page_names_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")}
    (diagram,) = re.findall(r"^notebook_gateway ──>.*$", PAGE, re.MULTILINE)
    assert packages == set(re.findall(r"[a-z_]+", diagram))
