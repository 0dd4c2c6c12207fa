"""`notebook-gateway uninstall`: take one client's entry out, or everything of ours off this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from native_host.paths import home_folder
from notebook_gateway.console import console, fail
from notebook_gateway.install_command import CLIENT_IDS

if TYPE_CHECKING:
    from onboarding.footprint import Footprint


@click.command()
@click.argument("client", type=click.Choice(CLIENT_IDS), required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--keep-data", is_flag=True, help="Keep our home folder: settings, journal, browser profile.")
def uninstall(client: str | None, yes: bool, keep_data: bool) -> None:
    """Give the files that we changed their former bytes back. With CLIENT, only that client's file.

    Without CLIENT the managed browser is stopped and our home folder is removed too, with the browser profile and the
    journal of writes in it. Files that you changed meanwhile keep your changes; only our entry is cut out.
    """
    from onboarding.clients import CLIENTS, CannotInstall, places_of
    from onboarding.clients import uninstall as uninstall_client
    from onboarding.footprint import Footprint, UnreadableFootprint

    home, places = home_folder(), places_of(os.environ, sys.platform)
    try:
        footprint = Footprint(home)
        if client is not None:
            restored = uninstall_client(CLIENTS[client], places, footprint)
            console.print(f"{client}: {'nothing of ours' if restored is None else restored.how}")
            return
        if not yes and not keep_data:
            click.confirm(f"Remove {home} with the browser profile and the journal?", abort=True)
        _stop_browser(home)
        _restore_files(footprint)
    except CannotInstall as error:
        fail(str(error), error.hint)
    except UnreadableFootprint as error:
        fail(str(error), "Mend or remove that file; the copies of your files are in backups/ beside it.")
    if not keep_data:
        _remove_home(home)
        console.print(f"removed     {home}", highlight=False, soft_wrap=True)
    console.print("Done. The program itself goes with: pip uninstall notebook-gateway")


def _stop_browser(home: Path) -> None:
    import trio

    from onboarding.keeper_client import KeeperClient, KeeperFailed, NoKeeper

    try:
        trio.run(KeeperClient(home).stop)
        console.print("stopped     the managed browser")
    except NoKeeper:
        return
    except KeeperFailed as error:
        fail(f"the managed browser could not be stopped: {error}", error.hint)


def _restore_files(footprint: Footprint) -> None:
    from onboarding.clients import CannotInstall, find_client, without_ours

    for record in footprint.records:
        client = find_client(record)
        before = footprint.former_bytes(record)

        def remove_ours(now: bytes) -> bytes | None:
            return before if client is None else without_ours(client, now, before)  # noqa: B023  # called at once

        try:
            restored = footprint.restore(record, remove_ours)
        except (OSError, ValueError) as error:
            raise CannotInstall(f"{record.path} cannot be changed: {error}", "Mend the file, then try again.") from None
        console.print(f"{restored.how:<11} {restored.path}", highlight=False, soft_wrap=True)


def _remove_home(home: Path) -> None:
    import shutil

    from native_host.paths import fallback_run_folder

    for folder in (home, fallback_run_folder(home)):
        if folder.exists():
            shutil.rmtree(folder)
