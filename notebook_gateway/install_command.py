"""`notebook-gateway install CLIENT`: our entry in an MCP client's configuration."""

from __future__ import annotations

import json
import os
import sys

import click

from native_host.paths import home_folder
from notebook_gateway.console import console, fail

CLIENT_IDS = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "windsurf",
    "vscode",
    "codex",
    "gemini-cli",
    "zed",
    "cline",
    "opencode",
)
"""Written out so that `--help` needs no parser of configuration files; a test holds it to the catalogue."""


@click.command()
@click.argument("client", type=click.Choice(CLIENT_IDS), required=False)
@click.option("--print", "print_only", is_flag=True, help="Print the entry and where it belongs; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def install(client: str | None, print_only: bool, as_json: bool) -> None:
    """Add notebook-gateway to an MCP client. Without CLIENT, show which clients are on this machine.

    Everything else in the client's file stays byte for byte as it is; `notebook-gateway uninstall CLIENT` gives back
    the file as it was.
    """
    from notebook_gateway.serve_entry import serve_entry
    from onboarding.clients import CLIENTS, CannotInstall, file_name, is_there, places_of, render
    from onboarding.clients import install as install_client
    from onboarding.footprint import Footprint, UnreadableFootprint

    home, places = home_folder(), places_of(os.environ, sys.platform)
    if client is None:
        found = {each.id: is_there(each, places) for each in CLIENTS.values()}
        if as_json:
            click.echo(json.dumps({"clients": found}))
            return
        for each in CLIENTS.values():
            mark = "[green]found[/]" if found[each.id] else "[dim]-[/]    "
            console.print(f"{mark}  {each.id:<15} {each.title:<15} {file_name(each, places)}", highlight=False)
        console.print("\nRun: notebook-gateway install CLIENT")
        return
    chosen, entry = CLIENTS[client], serve_entry(home)
    if print_only:
        block = render(chosen, entry)
        if as_json:
            click.echo(json.dumps({"client": client, "path": str(chosen.file(places)), "text": block}))
            return
        console.print(f"[dim]# {chosen.title}: {file_name(chosen, places)}[/]", highlight=False)
        click.echo(block, nl=False)
        return
    try:
        installed = install_client(chosen, entry, places, Footprint(home))
    except CannotInstall as error:
        fail(str(error), error.hint)
    except UnreadableFootprint as error:
        fail(str(error), "Mend or remove that file.")
    if as_json:
        click.echo(json.dumps({"client": client, "path": str(installed.path), "changed": installed.is_changed}))
        return
    done = "is now in" if installed.is_changed else "was already in"
    console.print(f"notebook-gateway {done} {file_name(chosen, places)}", highlight=False, soft_wrap=True)
    console.print(chosen.note or f"Start {chosen.title} anew to see it.")
