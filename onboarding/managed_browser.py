"""The managed browser: our own profile, held by the debugging pipe, with the extension loaded and ready.

The pipe is the only way in: no port is open, and the browser ends with whoever holds the pipe, however that ends. An
unpacked extension that was loaded over CDP is gone after a restart, so it is loaded at every start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import trio

from cdp.connection import Connection, run_connection
from cdp.errors import CallFailed, CdpError
from cdp.finder import find_browser
from cdp.launcher import Launched, launch
from cdp.targets import get_targets
from native_host.paths import ensure_private_folder, profile_folder
from native_host.registration import HOSTS_FOLDER, write_host_manifest, write_launcher
from onboarding.display import NoDisplay, has_display, is_headless_requested
from onboarding.extension_browser import ExtensionBrowser, load_extension
from onboarding.profile_folders import is_default_profile

CLOSE_TIMEOUT_S: Final = 5.0

OnStage = Callable[[str, float], None]
"""Called with ``browser`` and ``extension`` when each is up, and the milliseconds that it took."""


def profile_arguments() -> list[str]:
    """Return the arguments that every run of the profile shares.

    Cookies are encrypted with a key from the password store that the run was started with; a run with another store
    could not read them back, and the person would be signed out (measured). A process without a desktop session has no
    keyring to ask, so on Linux both runs use the basic store; the profile's folder is the person's alone (0700).
    """
    arguments = ["--no-first-run", "--no-default-browser-check"]
    return [*arguments, "--password-store=basic"] if sys.platform.startswith("linux") else arguments


def browser_environment(home: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment of every run of the profile.

    On Linux Chrome keeps crash reports, and the desktop's libraries a cache, beside the person's own; ours stay in our
    home folder, so that an uninstall leaves nothing (measured: .config/chromium/Crash Reports, .cache/dconf).
    """
    if not sys.platform.startswith("linux"):
        return environ
    folder = home / "browser"
    return {**environ, "CHROME_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache")}


class ManagedBrowser(ExtensionBrowser):
    """A running managed browser. Made by `open_managed_browser`."""

    def __init__(self, launched: Launched, connection: Connection, headless: bool) -> None:
        super().__init__(connection)
        self.launched = launched
        self.headless = headless

    @property
    def pid(self) -> int:
        return self.launched.pid

    @property
    def has_exited(self) -> bool:
        return self.launched.has_exited

    async def show(self) -> None:
        """Bring the window to the front. Nothing happens where there is none."""
        await self._set_window("normal")

    async def hide(self) -> None:
        """Minimise the window. Nothing happens where there is none."""
        await self._set_window("minimized")

    async def _set_window(self, state: str) -> None:
        if self.headless:
            return
        for target in await get_targets(self.connection):
            if target.type == "page":
                with suppress(CallFailed):  # a page without a window of its own
                    window = await self.connection.call("Browser.getWindowForTarget", {"targetId": target.id})
                    bounds = {"windowId": window.get("windowId"), "bounds": {"windowState": state}}
                    await self.connection.call("Browser.setWindowBounds", bounds)
                    return


@asynccontextmanager
async def open_managed_browser(
    home: Path,
    *,
    headless: bool,
    environ: Mapping[str, str] = os.environ,
    on_stage: OnStage | None = None,
) -> AsyncGenerator[ManagedBrowser]:
    """Start the managed browser, load the extension, wait until its worker is ready; all of it ends with the block.

    Raises:
        BrowserNotFound: no browser is installed.
        LaunchFailed: the browser ended at once, or its profile is in use.
        cdp.extensions.ExtensionNotLoaded: the browser refuses the extension, or its worker did not come up.
        NoDisplay: a window is wanted and cannot be shown.
    """
    headless = headless or is_headless_requested(environ)
    if not headless and not has_display(environ):
        raise NoDisplay("the managed browser")
    report = on_stage or _ignore
    prepare_profile(home)
    arguments = [*profile_arguments(), "--enable-unsafe-extension-debugging"]
    arguments += ["--headless=new"] if headless else ["--start-minimized"]
    async with AsyncExitStack() as stack:
        with _stage("browser", report):
            opened = launch(
                find_browser(environ),
                user_data_dir=profile_folder(home),
                args=[*arguments, "about:blank"],
                debug_port=None,
                pipe=True,
                environ=browser_environment(home, environ),
            )
            launched = await stack.enter_async_context(opened)
            assert launched.pipe is not None
            connection = await stack.enter_async_context(run_connection(launched.pipe))
            stack.push_async_callback(_close, launched, connection)
        browser = ManagedBrowser(launched, connection, headless)
        with _stage("extension", report):
            await load_extension(connection)
        await browser.hide()
        yield browser


async def _close(launched: Launched, connection: Connection) -> None:
    """Have the browser close as by its last window, so that it writes cookies and the extension's settings.

    The end of the pipe or SIGTERM ends it as well, but loses what was set in the last half minute (measured).
    """
    with trio.move_on_after(CLOSE_TIMEOUT_S, shield=True):
        with suppress(CdpError):
            await connection.call("Browser.close")
        await launched.process.wait()


def prepare_profile(home: Path) -> None:
    """Make the profile's folder with the host's manifest in it; in a new profile also switch developer mode on.

    Without developer mode Chromium takes the extension over CDP all the same, but disables it when it is reloaded
    (measured on 156: disable reason 1 << 24, "unsupported developer extension").

    Raises:
        ValueError: it is, holds or lies in the profile of an everyday browser (case C-090).
        OSError: it cannot be written, or is a link.
    """
    profile = profile_folder(home)
    if is_default_profile(profile, Path.home(), os.environ, sys.platform):
        # Chrome ignores every debugging switch there (136 and later), and it is the person's own.
        raise ValueError(f"{profile} is the folder of an everyday browser; choose another home folder for us")
    ensure_private_folder(profile)
    write_host_manifest(profile / HOSTS_FOLDER, write_launcher(home, sys.executable))
    folder = profile / "Default"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        preferences = {"extensions": {"ui": {"developer_mode": True}}}
        (folder / "Preferences").write_text(json.dumps(preferences), encoding="utf-8")


@contextmanager
def _stage(name: str, report: OnStage) -> Generator[None]:
    started = time.perf_counter()
    yield
    report(name, (time.perf_counter() - started) * 1000)


def _ignore(name: str, ms: float) -> None:
    """Nobody asked for the times."""
