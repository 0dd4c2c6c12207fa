"""`notebook-gateway allow …`: which notebooks agents may use.

Writes `allowlist.json`. The extension keeps a copy of its own that only the person may change; where a browser of ours
runs, this command is the person's hand and sets that copy too: through the keeper of the managed browser, or over CDP
in that of the harness (`run/browser.json`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from broker.allowlist import NOTEBOOK_ID, Allowed, Allowlist, BrokenAllowlist, change_allowlist, load_allowlist
from broker.config import load_config
from broker.errors import GatewayError
from native_host import paths
from notebook_gateway.console import console, fail


@click.group()
def allow() -> None:
    """Say which notebooks agents may use. Nothing is allowed until you allow it."""


@allow.command()
@click.argument("notebook_ids", nargs=-1, metavar="[NOTEBOOK_ID]...")
@click.option("--all", "everything", is_flag=True, help="Allow every notebook of the account, also future ones.")
def add(notebook_ids: tuple[str, ...], everything: bool) -> None:
    """Allow notebooks by id (the last part of a notebook's address), or all of them with --all."""
    ids = _checked(notebook_ids, everything)
    if everything:
        _change(lambda account, allowlist: allowlist.allowing_everything(account))
    else:
        _change(lambda account, allowlist: allowlist.adding(account, ids))


@allow.command()
@click.argument("notebook_ids", nargs=-1, metavar="[NOTEBOOK_ID]...")
@click.option("--all", "everything", is_flag=True, help="Take every permission of the account back.")
def remove(notebook_ids: tuple[str, ...], everything: bool) -> None:
    """Take the permission for notebooks back. Sessions that run notice at their next call."""
    ids = _checked(notebook_ids, everything)
    if everything:
        _change(lambda account, allowlist: allowlist.allowing_everything(account, everything=False))
    else:
        _change(lambda account, allowlist: allowlist.removing(account, ids))


@allow.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def list_(as_json: bool) -> None:
    """Show what the configured account allows."""
    home = paths.home_folder()
    try:
        account = load_config(home).account
        allowed = load_allowlist(home).for_account(account)
    except GatewayError as error:
        fail(error.message, error.hint)
    if as_json:
        click.echo(json.dumps({"account": account, "notebooks": allowed.as_json()}))
    elif allowed.is_empty:
        console.print(
            f"{account}: nothing is allowed. Allow one: notebook-gateway allow add <notebook id>", highlight=False
        )
    else:
        _print_allowed(account, allowed)


def _checked(notebook_ids: tuple[str, ...], everything: bool) -> list[str]:
    """Return the ids in lower case; a wrong combination or spelling ends the command with advice."""
    if everything == bool(notebook_ids):
        fail("give either notebook ids or --all", "notebook-gateway allow add --help")
    for notebook_id in notebook_ids:
        if not NOTEBOOK_ID.fullmatch(notebook_id.lower()):
            fail(
                f"{notebook_id!r} is not a notebook id",
                "Open the notebook in the browser: its id is the last part of the address, /notebook/<id>.",
            )
    return [notebook_id.lower() for notebook_id in notebook_ids]


def _change(change: Callable[[str, Allowlist], Allowlist]) -> None:
    home = paths.home_folder()
    try:
        account = load_config(home).account
        changed = change_allowlist(paths.allowlist_file(home), lambda allowlist: change(account, allowlist))
    except GatewayError as error:
        fail(error.message, error.hint)
    except BrokenAllowlist as error:
        path = paths.allowlist_file(home)
        fail(f"{path} is broken and was left as it is: {error}", f"Mend {path}, or remove it and allow notebooks anew.")
    allowed = changed.for_account(account)
    _print_allowed(account, allowed)
    if not _set_extension_copy(home, account, allowed):
        console.print(
            "The extension keeps its own list, which was not changed: no browser that this program started is running. "
            "Allow the notebook there too: in the extension's popup, or by running this again once the browser is up.",
            highlight=False,
        )


def _print_allowed(account: str, allowed: Allowed) -> None:
    if allowed.everything:
        console.print(f"{account}: all notebooks are allowed", highlight=False)
        return
    console.print(f"{account}: {len(allowed.ids)} allowed", highlight=False)
    for notebook_id in sorted(allowed.ids):
        console.print(f"  {notebook_id}", highlight=False)


def _set_extension_copy(home: Path, account: str, allowed: Allowed) -> bool:
    """Set the extension's own list in a browser that we own; False when there is none."""
    import trio

    from notebook_gateway.owned_browser import OwnedBrowserGone, maybe_owned_browser, set_extension_list
    from onboarding.keeper_client import KeeperClient, KeeperFailed, NoKeeper

    try:
        trio.run(KeeperClient(home).set_settings, account, allowed.as_json())
    except NoKeeper:
        pass
    except KeeperFailed as error:
        fail(f"allowlist.json is written, but the extension's own list is not: {error}", "Run the command again.")
    else:
        console.print("The extension's own list is set to the same.", highlight=False)
        return True
    cdp_url = maybe_owned_browser(home)
    if cdp_url is None:
        return False
    try:
        trio.run(set_extension_list, cdp_url, account, allowed.as_json())
    except OwnedBrowserGone as error:
        fail(f"allowlist.json is written, but the extension's own list is not: {error}", "Run the command again.")
    console.print("The extension's own list is set to the same.", highlight=False)
    return True
