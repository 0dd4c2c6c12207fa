"""`notebook-gateway doctor`: which hop is broken, and the one thing to do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from native_host.paths import home_folder
from notebook_gateway.console import error_console, fail

if TYPE_CHECKING:
    from onboarding.doctor.look import Look
    from onboarding.doctor.report import Report


@click.command()
@click.option("--fix", "fixes", is_flag=True, help="Mend what can be mended without asking, then look again.")
@click.option(
    "--bundle",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.zip",
    help="Also write an archive for a public report; addresses, ids and paths in it are replaced.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def doctor(fixes: bool, bundle: Path | None, as_json: bool) -> None:
    """Walk the road of a call, hop by hop, and say of each that it is fine, or what is wrong and the one thing to do.

    Starts the managed browser if one is configured, as an agent's first call would. Reads, never writes, and asks no
    question of the service. Exit status 0 when a call would work.
    """
    import trio

    from notebook_gateway.serve_entry import serve_entry
    from onboarding.doctor.look import Look

    home = home_folder()
    look = Look(home, os.environ, serve_entry(home))
    report = trio.run(_examine, look, fixes, as_json)
    names: list[str] = []
    if bundle is not None:
        from notebook_gateway.doctor.bundle import write_bundle

        try:
            names = write_bundle(bundle, report, look)
        except OSError as error:
            fail(f"{bundle} cannot be written: {error.strerror}", "Name a new file in a folder of yours.")
    if as_json:
        written = None if bundle is None else {"path": str(bundle), "files": names}
        click.echo(json.dumps({**report.as_json(), "bundle": written}, ensure_ascii=False))
    else:
        from notebook_gateway.doctor.view import show_end

        show_end(report)
        if bundle is not None:
            error_console.print(f"Wrote {bundle}: {', '.join(names)}", highlight=False, soft_wrap=True)
    sys.exit(0 if report.is_fine else 1)


async def _examine(look: Look, fixes: bool, as_json: bool) -> Report:
    import trio
    from attrs import evolve

    from notebook_gateway.doctor.fixes import mend
    from notebook_gateway.doctor.view import show_hop
    from notebook_gateway.doctor.walk import walk

    mended: list[str] = []
    if fixes:
        # Quietly: what is shown is how things stand afterwards.
        first = await walk(look)
        mended, failed = await trio.to_thread.run_sync(mend, look, first.findings)
        for what in mended:
            error_console.print(f"mended: {what}", highlight=False, soft_wrap=True)
        for what in failed:
            error_console.print(f"not mended: {what}", highlight=False, soft_wrap=True)
    report = await walk(look) if as_json else await walk(look, show_hop)
    return evolve(report, mended=tuple(mended))
