"""`notebook-gateway browser …`: the managed browser and the keeper that holds it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from native_host.paths import home_folder
from notebook_gateway.console import console, fail

if TYPE_CHECKING:
    from onboarding.keeper_client import KeeperClient, KeeperStatus

Result = TypeVar("Result")

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@click.group()
def browser() -> None:
    """Start, stop and look at the managed browser."""


@browser.command()
@click.option("--headless", is_flag=True, help="Without a window; pages can tell (`navigator.webdriver`, user agent).")
@JSON_OPTION
def start(headless: bool, as_json: bool) -> None:
    """Start the managed browser, unless it runs; returns when its extension is ready."""
    from onboarding.configuration import UnreadableConfig, read_browser_config
    from onboarding.keeper_client import start_keeper

    home = home_folder()
    try:
        wants_headless = headless or read_browser_config(home).headless
    except UnreadableConfig as error:
        fail(str(error), "Mend that line; docs/configuration.md has every key.")

    async def work() -> KeeperStatus:
        return await start_keeper(home, headless=wants_headless, by_person=True)

    status_now = _run(work)
    if as_json:
        _print_json(status_now)
    else:
        console.print(f"browser {status_now.browser_pid} is up, kept by process {status_now.pid}")


@browser.command()
def stop() -> None:
    """Stop the managed browser and its keeper. The next call of an agent starts them again."""
    _ask(lambda keeper: keeper.stop(), "stopped")


@browser.command()
def show() -> None:
    """Bring the browser's window to the front."""
    _ask(lambda keeper: keeper.show(), "shown")


@browser.command()
def hide() -> None:
    """Minimise the browser's window."""
    _ask(lambda keeper: keeper.hide(), "minimised")


@browser.command(name="sign-in")
def sign_in() -> None:
    """Open the sign-in window in place of the browser. It is back when you are signed in."""
    _ask(lambda keeper: keeper.sign_in(), "the sign-in window is opening")


@browser.command()
@JSON_OPTION
def status(as_json: bool) -> None:
    """Show what the keeper does. Exit code 1 when none runs."""
    from onboarding.keeper_client import KeeperClient

    status_now = _run(KeeperClient(home_folder()).status)
    if as_json:
        _print_json(status_now)
        return
    console.print(f"keeper   process {status_now.pid}, {status_now.state}, build {status_now.build}")
    console.print(f"browser  process {status_now.browser_pid or '-'}{', headless' if status_now.headless else ''}")
    console.print(f"page     {status_now.page or '-'} {status_now.host}")
    worker = {None: "-", True: "running", False: "stopped"}[status_now.worker_running]
    console.print(f"worker   {worker}, restarts of the browser: {status_now.restarts}")
    if status_now.last_error:
        console.print(f"last     {status_now.last_error}", markup=False)


@browser.command(hidden=True)
@click.option("--headless", is_flag=True)
def keep(headless: bool) -> None:
    """Be the keeper: what `start` leaves behind."""
    import math

    import trio

    from cdp.errors import CdpError
    from native_host.resource_profile import apply_profile, read_profile
    from onboarding.configuration import UnreadableConfig, read_browser_config
    from onboarding.display import NoDisplay
    from onboarding.keeper import AlreadyKept, Keeper
    from onboarding.keeper import keep as keep_browser

    home = home_folder()
    for problem in apply_profile(read_profile(home)):  # before there are threads; the browser inherits it
        print(problem, flush=True)
    try:
        config = read_browser_config(home)
        keeper = Keeper(
            home,
            config.account,
            headless or config.headless,
            config.idle_stop_min * 60 if config.idle_stop_min else math.inf,
        )
        trio.run(keep_browser, keeper)
    except* (CdpError, NoDisplay, UnreadableConfig, AlreadyKept, OSError) as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        print(f"{first}", flush=True)
        raise SystemExit(1) from None


def _ask(request: Callable[[KeeperClient], Awaitable[None]], done: str) -> None:
    from onboarding.keeper_client import KeeperClient

    async def work() -> None:
        await request(KeeperClient(home_folder()))

    _run(work)
    console.print(done)


def _run(work: Callable[[], Awaitable[Result]]) -> Result:
    import trio

    from onboarding.keeper_client import KeeperFailed, NoKeeper

    try:
        return trio.run(work)
    except NoKeeper:
        fail("no managed browser runs", "Run: notebook-gateway browser start")
    except KeeperFailed as error:
        fail(str(error), error.hint)


def _print_json(status_now: KeeperStatus) -> None:
    import attrs

    click.echo(json.dumps(attrs.asdict(status_now)))
