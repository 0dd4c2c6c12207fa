"""The person's everyday browser in the tests of onboarding: a run on the default profile folder.

The hand of the person is a CDP connection of the test's own; the product has none with `--daily`.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from cdp.connection import Connection, open_connection
from cdp.endpoint import resolve_endpoint
from cdp.finder import find_browser
from cdp.launcher import BROWSER_ARGS_VARIABLE, Launched, launch
from cdp.polling import until
from harness.bare import Bare
from harness.person import sign_in_at
from native_host.paths import config_file
from onboarding.extension_browser import ExtensionBrowser, load_extension
from onboarding.pages import sign_in_url


@attrs.frozen
class Everyday:
    launched: Launched
    port: int
    connection: Connection
    bare: Bare


@asynccontextmanager
async def an_everyday_browser(bare: Bare) -> AsyncGenerator[Everyday]:
    """Start Chromium on the folder that it uses by default for the person of `bare`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
    environ = {**os.environ, **bare.env}
    arguments = [*shlex.split(environ.pop(BROWSER_ARGS_VARIABLE)), "--password-store=basic", "--no-first-run"]
    async with (
        launch(
            find_browser(environ),
            user_data_dir=bare.person_home / ".config" / "chromium",
            args=[*arguments, "--enable-unsafe-extension-debugging", "about:blank"],
            debug_port=port,
            environ=environ,
        ) as launched,
        open_connection((await resolve_endpoint(launched.cdp_url)).ws_url) as connection,
    ):
        yield Everyday(launched, port, connection, bare)


async def sign_in_in_tab(everyday: Everyday, account: str) -> None:
    """Fill in the sign-in page in whatever tab it shows."""
    await sign_in_at(everyday.port, account)


async def follow_the_daily_guide(everyday: Everyday, account: str) -> None:
    """Do what the guide says: load the extension, set account and notebooks in it, sign in."""

    async def is_asked() -> bool:
        await trio.lowlevel.checkpoint()
        return any((everyday.bare.person_home / ".config" / "chromium" / "NativeMessagingHosts").glob("*.json"))

    await until(is_asked)
    await load_extension(everyday.connection)
    browser = ExtensionBrowser(everyday.connection)
    await until(lambda: _exists(config_file(everyday.bare.home)))
    await everyday.connection.call("Target.createTarget", {"url": sign_in_url(account)})
    await sign_in_at(everyday.port, account)
    await browser.set_settings(account, "*")


async def _exists(path: os.PathLike[str]) -> bool:
    return await trio.Path(path).exists()


def is_ours(path: Path, home: Path) -> bool:
    """Whether a path is none of those that the running browser itself makes and removes while a test looks."""
    name = str(path.relative_to(home))
    theirs = (os.path.join(".config", "chromium"), ".cache", ".pki")
    return not name.startswith(theirs) or "NativeMessagingHosts" in name
