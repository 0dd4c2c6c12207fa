"""A running browser that somebody else started and that we are attached to over its debugging port (``--cdp-url``)."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from cdp.connection import CONNECT_TIMEOUT_S, Connection, open_connection
from cdp.endpoint import CONSENT_TIMEOUT_S, resolve_endpoint
from cdp.errors import CallFailed, CdpError, ConnectFailed
from cdp.extensions import LoadingNotAllowed
from cdp.messages import text_field
from onboarding.browsers import ReadRefused
from onboarding.extension_browser import ExtensionBrowser, load_extension
from onboarding.pages import PageKind
from onboarding.run import Notebooks
from onboarding.steps import DOCTOR, StepFailed

BY_HAND: Final = "Load the extension by hand: run the command again with --daily instead of --cdp-url."
PROFILE_SWITCH: Final = "--user-data-dir="


class AttachedBrowser:
    """Made by `attach`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._browser = ExtensionBrowser(connection)

    async def set_settings(self, account: str, notebooks: Notebooks) -> None:
        async with _failures("settings"):
            await self._browser.set_settings(account, notebooks)
            await self._browser.open_notebook_tab(account)

    async def get_settings(self) -> dict[str, object]:
        async with _failures("settings"):
            return await self._browser.get_settings()

    async def notebooks(self) -> list[tuple[str, str]]:
        async with _failures("account"):
            rows = await self._browser.notebooks()
        return [(str(row.get("id")), str(row.get("title"))) for row in rows]

    async def page(self) -> tuple[PageKind, str]:
        async with _failures("page"):
            state = await self._browser.page_state()
        return state.kind, state.host

    async def connect_port(self) -> None:
        async with _failures("port"):
            await self._browser.wake_worker()
            await self._browser.ensure_native_port()

    async def has_extension(self) -> bool:
        """Whether the extension's worker runs there."""
        async with _failures("extension"):
            return await self._browser.is_worker_running()

    async def load_extension(self) -> None:
        """Load it over this connection, where the browser serves that; many do so on the pipe only (case C-092).

        Raises:
            StepFailed: with what to do by hand.
        """
        try:
            await load_extension(self._connection)
        except LoadingNotAllowed as error:
            raise StepFailed("extension.not-over-websocket", str(error), BY_HAND) from None
        except CdpError as error:
            raise StepFailed("extension.refused", str(error), BY_HAND) from None

    async def open_tab(self, url: str) -> None:
        async with _failures("page"):
            await self._connection.call("Target.createTarget", {"url": url})

    async def profile_folder(self) -> Path:
        """Return the user data folder that the browser was started with; it can only say one that was named.

        Raises:
            StepFailed: it was started without one, or does not tell.
        """
        try:
            info = await self._connection.call("SystemInfo.getInfo")
            arguments = shlex.split(text_field(info, "commandLine"))
        except (CallFailed, ValueError) as error:
            why = f"the browser does not tell its profile: {error}"
            raise StepFailed("host.unknown-profile", why, BY_HAND) from None
        folders = [each.removeprefix(PROFILE_SWITCH) for each in arguments if each.startswith(PROFILE_SWITCH)]
        if not folders:
            raise StepFailed("host.unknown-profile", "the browser was started without a profile folder", BY_HAND)
        return Path(folders[-1])


@asynccontextmanager
async def attach(url: str) -> AsyncGenerator[AttachedBrowser]:
    """Attach to the browser at `url` for the length of the block.

    Raises:
        StepFailed: nothing answers there, or it is on another machine, where our native host is not.
    """
    try:
        endpoint = await resolve_endpoint(url)
    except ConnectFailed as error:
        fix = "Start it with --remote-debugging-port, or correct the URL."
        raise StepFailed("browser.unreachable", str(error), fix) from None
    if not endpoint.is_local:
        raise StepFailed(
            "browser.remote",
            f"the browser at {url} is not on this machine, and its native host would have to be",
            "Run notebook-gateway onboard on that machine, beside the browser.",
        )
    timeout_s = CONSENT_TIMEOUT_S if endpoint.needs_consent else CONNECT_TIMEOUT_S
    try:
        async with open_connection(endpoint.ws_url, connect_timeout_s=timeout_s) as connection:
            yield AttachedBrowser(connection)
    except ConnectFailed as error:
        fix = "Approve the connection in that browser's window, or start the browser anew."
        raise StepFailed("browser.unreachable", str(error), fix) from None


@asynccontextmanager
async def _failures(step: str) -> AsyncGenerator[None]:
    try:
        yield
    except ReadRefused:
        raise
    except CdpError as error:
        raise StepFailed(f"{step}.browser", f"the browser does not do it: {error}", DOCTOR) from None
