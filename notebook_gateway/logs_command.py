"""`notebook-gateway logs`: the last calls, and one call's road through all programs."""

from __future__ import annotations

import json
import sys

import click

MOST = 1000
USUAL = 20


@click.command()
@click.option("--trace", help="Show one call: its trace id, the first digits of it, or its whole `traceparent`.")
@click.option("--limit", type=click.IntRange(1, MOST), default=USUAL, show_default=True, help="How many calls to list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def logs(trace: str | None, limit: int, as_json: bool) -> None:
    """Show what the logs have of the last calls, or one call's road as a waterfall.

    Each result carries its trace id in `_meta.traceparent`. The logs hold names, times and codes, never content.
    Exit status 1 when there is nothing to show.
    """
    from native_host.paths import home_folder
    from notebook_gateway.logs_report import read_records, road_of, trace_prefix

    try:
        wanted = "" if trace is None else trace_prefix(trace)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--trace") from None
    found = read_records(home_folder())
    roads = [
        road
        for trace_id, records in found.items()
        if trace_id.startswith(wanted) and (road := road_of(trace_id, records)) is not None
    ]
    roads.sort(key=lambda road: road.began_ms, reverse=True)
    del roads[limit:]
    if as_json:
        click.echo(json.dumps([road.as_dict() for road in roads], ensure_ascii=False))
    elif not roads:
        click.echo("The logs have no such call." if wanted else "The logs have no call yet.", err=True)
    else:
        from notebook_gateway.logs_view import show_road, show_roads

        if trace is None:
            show_roads(roads)
        for road in roads if trace is not None else ():
            show_road(road)
    sys.exit(0 if roads else 1)
