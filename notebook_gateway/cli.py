"""The command line for people: a click group whose commands live one per module."""

from __future__ import annotations

import click

from native_host.build import BUILD
from notebook_gateway.activity_command import activity
from notebook_gateway.allow_command import allow
from notebook_gateway.browser_command import browser
from notebook_gateway.demo_command import demo
from notebook_gateway.doctor_command import doctor
from notebook_gateway.harness_command import harness
from notebook_gateway.install_command import install
from notebook_gateway.journal_command import journal
from notebook_gateway.logs_command import logs
from notebook_gateway.onboard_command import onboard
from notebook_gateway.status_command import status
from notebook_gateway.uninstall_command import uninstall


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(BUILD, prog_name="notebook-gateway", message="%(prog)s %(version)s")
def cli() -> None:
    """Your Google notebooks as MCP tools, executed inside your own signed-in Chrome page."""


@cli.command()
def serve() -> None:
    """Speak MCP on standard input and output; an MCP client starts this."""
    # Reached only with options such as `serve --help`: the plain command is dispatched before click is imported.
    from broker.serve import run

    raise SystemExit(run())


cli.add_command(activity)
cli.add_command(allow)
cli.add_command(browser)
cli.add_command(demo)
cli.add_command(doctor)
cli.add_command(harness)
cli.add_command(install)
cli.add_command(journal)
cli.add_command(logs)
cli.add_command(onboard)
cli.add_command(status)
cli.add_command(uninstall)
