from pathlib import Path

import click

from notebook_gateway.cli import cli
from notebook_gateway.cli_docs import cli_markdown

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_reference_is_what_the_commands_say() -> None:
    assert DOCS.read_text(encoding="utf-8") == cli_markdown(), "run: python -m notebook_gateway.cli_docs > docs/cli.md"


def test_every_option_that_a_person_can_give_explains_itself() -> None:
    assert list(_unexplained(cli, ())) == []


def _unexplained(command: click.Command, path: tuple[str, ...]) -> list[str]:
    """Name what has no help text; options without one would stand in the reference with an empty cell."""
    found = [] if command.help else [" ".join(path)]
    found += [
        " ".join((*path, *parameter.opts))
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden and not parameter.help
    ]
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            if not member.hidden:
                found += _unexplained(member, (*path, name))
    return found
