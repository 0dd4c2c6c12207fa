"""`notebook-gateway harness …`: the emulated service and a headless chain, for anybody's tests."""

from __future__ import annotations

import click


@click.group()
def harness() -> None:
    """Run the emulated service and a headless browser chain."""


@harness.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line once everything is up (for scripts).")
def up(as_json: bool) -> None:
    """Start emulator, headless Chromium, extension and native host, and serve until standard input closes.

    Nothing touches your own files: the chain lives in a private folder that is removed at the end. With the printed
    `env` set, `notebook-gateway serve` finds this companion.
    """
    try:
        from harness.up import run
    except ModuleNotFoundError as error:
        from notebook_gateway.console import fail

        fail(f"the harness needs {error.name}", "Run: pip install 'notebook-gateway[harness]'")
    raise SystemExit(run(as_json))
