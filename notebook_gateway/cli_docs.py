"""Write docs/cli.md from the commands: ``python -m notebook_gateway.cli_docs > docs/cli.md``.

Pure but for its last lines. A test compares the file with what this makes, so the reference cannot lag behind.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Final

import click

from notebook_gateway.cli import cli

_INTRODUCTION: Final = """\
# Commands

This file is generated: `python -m notebook_gateway.cli_docs > docs/cli.md`.

`notebook-gateway COMMAND --help` prints the same. Every command exits with 0 when it did what was asked, and
otherwise says on standard error what happened and what to do next.
"""


def cli_markdown() -> str:
    """Return the whole file."""
    return "\n".join(
        [_INTRODUCTION, *(line for path, command in _commands(cli, ()) for line in _section(path, command))]
    )


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that does something, by name; hidden ones are for our own processes."""
    for name, command in sorted(group.commands.items()):
        if command.hidden:
            continue
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield (*path, name), command
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _section(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    options = [
        parameter for parameter in command.params if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    usage = " ".join(["notebook-gateway", *path, *command.collect_usage_pieces(click.Context(command))])
    yield from (
        f"## {' '.join(path)}",
        "",
        f"`{usage}`",
        "",
        inspect.cleandoc(command.help or "").replace("\f", ""),
        "",
    )
    if options:
        yield from ("| option | meaning |", "|---|---|", *map(_option, options), "")


def _option(option: click.Option) -> str:
    names = ", ".join(option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(option.secondary_opts)
    if not option.is_flag:
        names += f" {_value(option)}"
    meaning = (option.help or "").replace("|", "\\|")
    if option.multiple:
        meaning += " Can be given more than once."
    if option.required:
        meaning += " Required."
    escaped = names.replace("|", "\\|")
    return f"| `{escaped}` | {meaning.strip()} |"


def _value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.type.name.upper()


if __name__ == "__main__":
    sys.stdout.write(cli_markdown())
