"""`notebook-gateway status`: what is connected, which account, which build on each hop."""

from __future__ import annotations

import json
import sys

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def status(as_json: bool) -> None:
    """Show what is connected, which account, and which build runs on each hop. Exit status 0 when a call would work."""
    import trio

    from notebook_gateway.status_report import gather_status

    report = trio.run(gather_status)
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        from notebook_gateway.status_view import show_status

        show_status(report)
    sys.exit(0 if report.ok else 1)
