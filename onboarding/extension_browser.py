"""A browser with the extension in it, over a CDP connection: what onboarding and keeper do there.

Everything goes through the worker's own globals (`extension/service_worker.js`); no page is ever attached to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import trio

import native_host
from cdp.connection import Connection
from cdp.extensions import (
    WorkerNeverAppeared,
    evaluate_in_worker,
    is_worker_running,
    load_unpacked,
    start_worker,
    worker_session,
)
from cdp.messages import list_field, object_field, text_field
from cdp.targets import get_targets, js_literal
from native_host.protocol import EXTENSION_ID
from onboarding.browsers import ReadRefused
from onboarding.pages import PageState, is_page_of, most_telling, notebook_url

EXTENSION_FOLDER: Final = Path(native_host.__file__).resolve().parents[1] / "extension"
READY_TIMEOUT_S: Final = 20.0
"""For the extension and its worker: measured at 0.3 s on an idle machine, 3 s on a busy one."""

READ_NOTEBOOKS: Final = (
    "gatewayNotebooks().then((notebooks) => ({ notebooks }),"
    " (fault) => ({ code: fault.code ?? 'INTERNAL', message: fault.message }))"
)
IS_READY: Final = "Boolean(globalThis.chrome?.runtime?.id && globalThis.ensureNativePort && globalThis.gatewaySettings)"


async def load_extension(connection: Connection) -> None:
    """Load our extension and wait until its worker is ready.

    Raises:
        cdp.extensions.ExtensionNotLoaded: the browser refuses it, or the worker did not come up.
    """
    with trio.move_on_after(READY_TIMEOUT_S):
        await load_unpacked(connection, EXTENSION_FOLDER, EXTENSION_ID)
        async with worker_session(connection, EXTENSION_ID, IS_READY):
            return
    raise WorkerNeverAppeared(f"the extension was loaded, but its worker was not ready within {READY_TIMEOUT_S:g} s")


class ExtensionBrowser:
    """A browser whose extension is reached over `connection`, which belongs to whoever opened it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

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

    async def _page_urls(self) -> list[str]:
        return [target.url for target in await get_targets(self.connection) if target.type == "page"]

    async def _in_worker(self, expression: str) -> object:
        return await evaluate_in_worker(self.connection, EXTENSION_ID, IS_READY, expression)
