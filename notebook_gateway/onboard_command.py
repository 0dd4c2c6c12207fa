"""`notebook-gateway onboard`: from nothing to the first answered question."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from native_host.paths import home_folder
from notebook_gateway.console import error_console, fail
from notebook_gateway.install_command import CLIENT_IDS

if TYPE_CHECKING:
    from onboarding.run import Options

DEFAULT_SIGN_IN_TIMEOUT_S = 900.0


@click.command()
@click.option("--account", metavar="ADDRESS", help="The Google account to work as.")
@click.option("--notebook", "notebooks", multiple=True, metavar="ID", help="Allow this notebook (repeatable).")
@click.option("--allow-all", is_flag=True, help="Allow every notebook of the account, also future ones.")
@click.option("--client", "clients", multiple=True, type=click.Choice(CLIENT_IDS), help="Configure it (repeatable).")
@click.option("--daily", is_flag=True, help="Use your everyday browser: you load the extension, led step by step.")
@click.option(
    "--cdp-url", metavar="URL", help="Use a running browser of this machine, at its debugging port (http:// or ws://)."
)
@click.option("--browser", metavar="PATH", help="The browser to use, instead of the first that is found.")
@click.option("--headless", is_flag=True, help="Run the managed browser without a window.")
@click.option("--non-interactive", is_flag=True, help="Never ask; what an option does not answer is an error.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per line and nothing else.")
@click.option(
    "--sign-in-timeout",
    "sign_in_timeout_s",
    type=click.FloatRange(min=1),
    default=DEFAULT_SIGN_IN_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the person, at the sign-in page and elsewhere.",
)
@click.option("--no-proof", is_flag=True, help="Leave the last step out: a question through the finished chain.")
def onboard(
    account: str | None,
    notebooks: tuple[str, ...],
    allow_all: bool,
    clients: tuple[str, ...],
    daily: bool,
    cdp_url: str | None,
    browser: str | None,
    headless: bool,
    non_interactive: bool,
    as_json: bool,
    sign_in_timeout_s: float,
    no_proof: bool,
) -> None:
    """Set everything up, step by step, and prove it by a question. Run it again at any time.

    Each step looks first whether it is done, so a run that was broken off goes on where it stopped, and a second run
    changes nothing.
    """
    from onboarding.run import Options

    if allow_all and notebooks:
        fail("give either --notebook or --allow-all", "notebook-gateway onboard --help")
    if daily and cdp_url:
        fail("give either --daily or --cdp-url", "notebook-gateway onboard --help")
    options = Options(
        account=account,
        notebooks=tuple(notebook_id.lower() for notebook_id in notebooks),
        allow_all=allow_all,
        clients=clients,
        cdp_url=cdp_url,
        browser=browser,
        headless=headless,
        sign_in_timeout_s=sign_in_timeout_s,
        with_proof=not no_proof,
    )
    raise SystemExit(_onboard(options, daily=daily, asks=not non_interactive and not as_json, as_json=as_json))


def _onboard(options: Options, *, daily: bool, asks: bool, as_json: bool) -> int:
    from contextlib import AsyncExitStack

    import trio

    from notebook_gateway.companion_browser import CompanionBrowser
    from notebook_gateway.onboard_people import AllowlistPolicy, Nobody, Terminal
    from notebook_gateway.onboard_view import JsonLines, LiveList
    from notebook_gateway.serve_entry import serve_entry
    from onboarding.attached_steps import ATTACHED
    from onboarding.checklist import Checklist, StepEvent
    from onboarding.daily_steps import DAILY
    from onboarding.footprint import Footprint, UnreadableFootprint
    from onboarding.keeper_client import KeeperClient
    from onboarding.kept_browser import KeptBrowser
    from onboarding.managed_steps import MANAGED
    from onboarding.onboard import run_steps
    from onboarding.run import Run
    from onboarding.steps import StepFailed

    home = home_folder()
    steps = DAILY if daily else ATTACHED if options.cdp_url else MANAGED
    checklist = Checklist(steps)
    view = JsonLines() if as_json else LiveList(checklist)

    def report(event: StepEvent) -> None:
        checklist.apply(event)
        view.show(event)

    try:
        footprint = Footprint(home)
    except UnreadableFootprint as error:
        fail(str(error), "Mend or remove that file.")

    async def work() -> StepFailed | None:
        async with AsyncExitStack() as resources:
            run = Run(
                home=home,
                options=options,
                environ=os.environ,
                person=Terminal(view.pause, view.resume) if asks else Nobody(),
                policy=AllowlistPolicy(home),
                server=serve_entry(home),
                browser=CompanionBrowser(home) if daily else KeptBrowser(KeeperClient(home)),
                footprint=footprint,
                resources=resources,
                on_waiting=lambda _: None,
            )
            return await run_steps(run, steps, report)

    with view:
        failure = trio.run(work)
    if as_json:
        end: dict[str, object] = {"event": "end", "ok": failure is None}
        if failure is not None:
            end |= {"code": failure.code, "message": str(failure), "fix": failure.fix}
        click.echo(json.dumps(end))
    elif failure is not None:
        error_console.print(f"[bold red]error:[/] {failure} ({failure.code})", highlight=False, soft_wrap=True)
        error_console.print(f"[dim]next:[/]  {failure.fix}", highlight=False, soft_wrap=True)
    return 0 if failure is None else 1
