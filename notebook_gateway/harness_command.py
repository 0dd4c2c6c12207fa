"""`notebook-gateway harness …`: the emulated service and a headless chain, for anybody's tests."""

from __future__ import annotations

from pathlib import Path

import click

from notebook_gateway.console import fail


@click.group()
def harness() -> None:
    """Run the emulated service and a headless browser chain."""


@harness.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line once everything is up (for scripts).")
@click.option("--bare", is_flag=True, help="Only the service: no browser, an empty home directory, for `onboard`.")
@click.option("--person", is_flag=True, help="With --bare: fill in the emulator's sign-in page like a person.")
def up(as_json: bool, bare: bool, person: bool) -> None:
    """Start emulator, headless Chromium, extension and native host, and serve until standard input closes.

    Nothing touches your own files: the chain lives in a private folder that is removed at the end. With the printed
    `env` set, `notebook-gateway serve` finds this companion. With --bare the printed `env` is that of a person who
    has nothing yet: `notebook-gateway onboard` runs against the emulator in it.
    """
    try:
        from harness.up import run, run_bare
    except ModuleNotFoundError as error:
        fail(f"the harness needs {error.name}", "Run: pip install 'notebook-gateway[harness]'")
    raise SystemExit(run_bare(as_json, person) if bare else run(as_json))


@harness.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit report here.")
@click.option("--browsers", type=click.IntRange(1, 32), default=1, show_default=True, help="How many to share them.")
def run_file(file: Path, junit: Path | None, browsers: int) -> None:
    """Run the scenarios of a TOML file: tool calls, expectations and faults, against the emulated service.

    Each scenario has a session of its own, on a service that is back at its seed. The exit status is 0 when all pass,
    1 when one fails, 2 when the file is wrong or no browser comes up. docs/harness.md describes the file.
    """
    try:
        from notebook_gateway.scenario_report import run_and_report
    except ModuleNotFoundError as error:
        fail(f"the harness needs {error.name}", "Run: pip install 'notebook-gateway[harness]'")
    raise SystemExit(run_and_report(file, junit, browsers))
