"""The managed browser: our own profile, held by the debugging pipe, with the extension loaded and ready.

The pipe is the only way in: no port is open, and the browser ends with whoever holds the pipe, however that ends. An
unpacked extension that was loaded over CDP is gone after a restart, so it is loaded at every start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import trio

import native_host
from cdp.connection import Connection, run_connection
from cdp.errors import CallFailed, CdpError
from cdp.extensions import (
    WorkerNeverAppeared,
    evaluate_in_worker,
    is_worker_running,
    load_unpacked,
    start_worker,
    worker_session,
)
from cdp.finder import find_browser
from cdp.launcher import Launched, launch
from cdp.messages import list_field, object_field, text_field
from cdp.targets import get_targets, js_literal
from native_host.paths import profile_folder
from native_host.protocol import EXTENSION_ID
from native_host.registration import write_host_manifest, write_launcher
from onboarding.browsers import ReadRefused
from onboarding.display import NoDisplay, has_display, is_headless_requested
from onboarding.pages import PageState, is_page_of, most_telling, notebook_url

EXTENSION_FOLDER: Final = Path(native_host.__file__).resolve().parents[1] / "extension"
READY_TIMEOUT_S: Final = 20.0
"""For the extension and its worker: measured at 0.3 s on an idle machine, 3 s on a busy one."""

CLOSE_TIMEOUT_S: Final = 5.0
READ_NOTEBOOKS: Final = (
    "gatewayNotebooks().then((notebooks) => ({ notebooks }),"
    " (fault) => ({ code: fault.code ?? 'INTERNAL', message: fault.message }))"
)
IS_READY: Final = "Boolean(globalThis.chrome?.runtime?.id && globalThis.ensureNativePort && globalThis.gatewaySettings)"

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


class ManagedBrowser:
    """A running managed browser. Made by `open_managed_browser`."""

    def __init__(self, launched: Launched, connection: Connection, headless: bool) -> None:
        self.launched = launched
        self.connection = connection
        self.headless = headless

    @property
    def pid(self) -> int:
        return self.launched.pid

    @property
    def has_exited(self) -> bool:
        return self.launched.has_exited

    async def set_settings(self, account: str | None, notebooks: Sequence[str] | str) -> None:
        """Set what only the person may change: the extension's account and its allowlist (ids, or "*")."""
        value = notebooks if isinstance(notebooks, str) else list(notebooks)
        await self._in_worker(f"gatewaySettings.set({js_literal({'account': account, 'notebooks': value})})")

    async def get_settings(self) -> dict[str, object]:
        """Return ``{"account", "notebooks"}`` as the extension has them."""
        settings = await self._in_worker("gatewaySettings.get()")
        return object_field({"settings": settings}, "settings")

    async def notebooks(self) -> list[dict[str, object]]:
        """Return ``{"id", "title"}`` of every notebook of the account, for the person who chooses among them.

        Raises:
            ReadRefused: nobody or somebody else is signed in, or the service refused.
        """
        answer = object_field({"answer": await self._in_worker(READ_NOTEBOOKS)}, "answer")
        if "code" in answer:
            raise ReadRefused(text_field(answer, "code"), text_field(answer, "message"))
        return [object_field({"row": row}, "row") for row in list_field(answer, "notebooks")]

    async def last_call_ms(self) -> float:
        """Return when a broker called last, in epoch milliseconds; when the worker started, if none has since."""
        value = await self._in_worker("gatewayLastCallMs()")
        return float(value) if isinstance(value, int | float) else 0.0

    async def ensure_native_port(self) -> None:
        """Have the extension open its native port now, instead of when its back-off ends."""
        await self._in_worker("ensureNativePort()")

    async def is_worker_running(self) -> bool:
        """Whether the extension's worker runs; looks without keeping it alive."""
        return await is_worker_running(self.connection, EXTENSION_ID)

    async def wake_worker(self) -> None:
        """Start a stopped worker; its first act is to open the native port."""
        if not await start_worker(self.connection, EXTENSION_ID):
            await self.connection.call("Target.createTarget", {"url": "about:blank", "background": True})
            await start_worker(self.connection, EXTENSION_ID)

    async def open_notebook_tab(self, account: str) -> None:
        """Make sure that a notebook tab of the account is open."""
        if not any(is_page_of(url, account) for url in await self._page_urls()):
            url = notebook_url(account)
            await self.connection.call("Target.createTarget", {"url": url, "background": True})

    async def page_state(self) -> PageState:
        """Say what the pages of this browser amount to, by their addresses."""
        return most_telling(await self._page_urls())

    async def show(self) -> None:
        """Bring the window to the front. Nothing happens where there is none."""
        await self._set_window("normal")

    async def hide(self) -> None:
        """Minimise the window. Nothing happens where there is none."""
        await self._set_window("minimized")

    async def _page_urls(self) -> list[str]:
        return [target.url for target in await get_targets(self.connection) if target.type == "page"]

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

    async def _in_worker(self, expression: str) -> object:
        return await evaluate_in_worker(self.connection, EXTENSION_ID, IS_READY, expression)


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
            await _load_extension(connection)
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
    """
    profile = profile_folder(home)
    profile.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_host_manifest(profile / "NativeMessagingHosts", write_launcher(home, sys.executable))
    folder = profile / "Default"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        preferences = {"extensions": {"ui": {"developer_mode": True}}}
        (folder / "Preferences").write_text(json.dumps(preferences), encoding="utf-8")


async def _load_extension(connection: Connection) -> None:
    with trio.move_on_after(READY_TIMEOUT_S):
        await load_unpacked(connection, EXTENSION_FOLDER, EXTENSION_ID)
        async with worker_session(connection, EXTENSION_ID, IS_READY):
            return
    raise WorkerNeverAppeared(f"the extension was loaded, but its worker was not ready within {READY_TIMEOUT_S:g} s")


@contextmanager
def _stage(name: str, report: OnStage) -> Generator[None]:
    started = time.perf_counter()
    yield
    report(name, (time.perf_counter() - started) * 1000)


def _ignore(name: str, ms: float) -> None:
    """Nobody asked for the times."""
