"""The architecture page stays short, and what it says about the code can be found there."""

from __future__ import annotations

import re
from pathlib import Path

from broker.session_lock import TRANSITIONS

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


def test_lock_table_on_the_page_is_the_table_in_the_code() -> None:
    """ADR-011: the table is the rule; the page only shows it."""
    shown = {(row["state"], row["event"], row["next"]) for row in STATE_ROW.finditer(PAGE)}
    in_code = {
        (state.name, event.name, following.name)
        for state, events in TRANSITIONS.items()
        for event, following in events.items()
    }
    assert shown == in_code


def test_import_direction_on_the_page_names_every_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")}
    (diagram,) = re.findall(r"^notebook_gateway ──>.*$", PAGE, re.MULTILINE)
    assert packages == set(re.findall(r"[a-z_]+", diagram))
