"""`notebook-gateway activity`: what agents did lately, without any content."""

from __future__ import annotations

import json
import sys

import click

MOST = 200
USUAL = 20


@click.command()
@click.option("--limit", type=click.IntRange(1, MOST), default=USUAL, show_default=True, help="How many calls to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def activity(limit: int, as_json: bool) -> None:
    """Show the last tool calls of each agent: tool, notebook, time, result; never content.

    The extension's popup shows the same. The browser keeps them for as long as it runs.
    Exit status 1 when no browser answers.
    """
    import trio

    from notebook_gateway.activity_report import gather_activity

    report = trio.run(gather_activity, limit)
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        from notebook_gateway.activity_view import show_activity

        show_activity(report)
    sys.exit(0 if report.problem is None else 1)
