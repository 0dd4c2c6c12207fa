"""Reading `guards.toml`, and the table of docs/guarantees.md that is made from it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from attrs import frozen
from cattrs import Converter

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = Path(__file__).with_name("guards.toml")
PAGE: Final = ROOT / "docs" / "guarantees.md"
BEGIN: Final = "<!-- made by `python -m tests.guards --table` -->"

REQUIRED: Final = (
    *(f"M-{number:02d}" for number in range(1, 11)),
    *(f"P-{number:02d}" for number in range(1, 5)),
    *(f"ADR-{number:03d}" for number in range(1, 19)),
)
"""The owner's items: mitigations, polish, decisions."""


@frozen
class Guarantee:
    """`test` is a pytest node id, or a test file of node, with `: title` for one test in it."""

    item: str
    promise: str
    module: str
    test: str
    old: str
    new: str

    @property
    def test_file(self) -> str:
        return self.test.partition("::")[0].partition(": ")[0]

    @property
    def is_node(self) -> bool:
        return self.test_file.endswith(".js")

    @property
    def test_name(self) -> str:
        """The one test, or an empty string for the whole file."""
        return self.test.partition(": " if self.is_node else "::")[2]


@frozen
class Guarantees:
    guarantee: tuple[Guarantee, ...]
    not_built: dict[str, str]


def load() -> Guarantees:
    """Read the file. Raises: what tomllib and cattrs raise for one that is wrong."""
    converter = Converter(forbid_extra_keys=True)
    return converter.structure(tomllib.loads(FILE.read_text(encoding="utf-8")), Guarantees)


def table(guarantees: Guarantees) -> str:
    """Return the part of the page that is made, from `BEGIN` on."""
    lines = [
        BEGIN,
        "",
        f"{len(guarantees.guarantee)} guarantees, each with its guard; {len(guarantees.not_built)} not built yet.",
        "",
        "| item | what is promised | enforced in | the test that fails without it |",
        "|---|---|---|---|",
    ]
    for each in guarantees.guarantee:
        name = f": {each.test_name}" if each.is_node and each.test_name else ""
        test = each.test_file if each.is_node else each.test
        lines.append(f"| {each.item} | {each.promise} | `{each.module}` | `{test}`{name} |")
    lines += [f"| {item} | {why} | | |" for item, why in guarantees.not_built.items()]
    return "\n".join([*lines, ""])
