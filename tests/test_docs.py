"""The documents name what exists, and everything a person can use is in a document."""

from __future__ import annotations

import re
from pathlib import Path

import click

from broker.config import KNOWN_KEYS
from broker.errors import ERROR_CLASSES, CompanionOffline, ErrorCode
from broker.tools import TOOLS
from broker.upload_trouble import Place, stopped
from harness.emulator.faults import KINDS
from notebook_gateway.cli import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_relative_link_leads_somewhere() -> None:
    for page in PAGES:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_command_stands_in_the_readme() -> None:
    readme = text_of("README.md")
    for name, command in cli.commands.items():
        assert f"notebook-gateway {name}" in readme
        if isinstance(command, click.Group):
            for sub in (sub for sub, command in command.commands.items() if not command.hidden):
                assert re.search(rf"notebook-gateway {name} [\w\\|]*\b{sub}\b", readme), f"{name} {sub}"


def test_every_tool_stands_in_the_readme() -> None:
    readme = text_of("README.md")
    for tool in TOOLS:
        assert f"`{tool.name}`" in readme, tool.name


def test_every_configuration_key_is_explained() -> None:
    page = text_of("docs/configuration.md")
    for key in KNOWN_KEYS:
        assert f"| `{key}` |" in page


def test_every_error_code_is_explained_as_the_code_has_it() -> None:
    rows = {
        row[0]: row
        for row in re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text_of("docs/errors.md"), re.M)
    }
    assert rows.keys() == {str(code) for code in ErrorCode}
    for code, error_class in ERROR_CLASSES.items():
        _, _, retryable, next_step = rows[str(code)]
        assert retryable == ("yes" if error_class.retryable else "no"), code
        assert next_step == (error_class.hint or "–"), code


def test_the_details_of_an_unknown_write_are_those_of_the_code() -> None:
    _, _, section = text_of("docs/errors.md").partition("### `MUTATION_UNKNOWN`")
    explained = set(re.findall(r"^\| `(\w+)` \|", section, re.M))
    upload = stopped(Place("a source", "start", 0), CompanionOffline("no browser"))
    assert explained >= upload.details.keys()
    code = "".join(text_of(f"broker/{name}.py") for name in ("proving", "note_writing", "mutations", "upload_trouble"))
    assert {name for name in explained if f'"{name}": ' not in code} == set()


def test_every_fault_of_the_harness_is_listed() -> None:
    page = text_of("docs/harness.md")
    for name in KINDS:
        assert f"`{name}`" in page, name
