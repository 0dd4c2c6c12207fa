"""The everyday browser as onboarding sees it: through the native host's socket, like any broker."""

from __future__ import annotations

from pathlib import Path

import trio

from broker.calls import CallContext
from broker.companions import open_companions
from broker.errors import GatewayError
from broker.trace import continue_or_begin_trace
from broker.upstream import Upstream
from onboarding.browsers import ReadRefused
from onboarding.detection import maybe_companion
from onboarding.pages import PageKind
from onboarding.run import Notebooks
from onboarding.steps import StepFailed

READ_TIMEOUT_S = 60.0
SETTINGS_TIMEOUT_S = 10.0


class CompanionBrowser:
    """A `onboarding.browsers.GuidedBrowser` in which nothing can be set: that is the person's, in the popup."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def get_settings(self) -> dict[str, object]:
        welcome = await maybe_companion(self._home)
        if welcome is None:
            raise StepFailed(
                "settings.no-browser",
                "the browser with the extension has gone",
                "Start it, then run the command again.",
            )
        account = welcome.get("account")
        if not isinstance(account, str):
            return {"account": None, "notebooks": []}
        try:
            async with open_companions(self._home, account) as companions:
                status = await companions.status(
                    deadline_s=trio.current_time() + SETTINGS_TIMEOUT_S, traceparent=continue_or_begin_trace(None)
                )
        except GatewayError as error:
            raise StepFailed(f"settings.{error.code}", error.message, error.hint) from None
        return {"account": account, "notebooks": status.get("notebooks")}

    async def set_settings(self, account: str, notebooks: Notebooks) -> None:
        await trio.lowlevel.checkpoint()
        raise StepFailed(
            "settings.by-hand",
            f"the extension is not set to {account}",
            "Open the extension's popup, set account and notebooks there, then run the command again.",
        )

    async def notebooks(self) -> list[tuple[str, str]]:
        """Return the notebooks that the extension allows; the others stay in the page."""
        account = str((await self.get_settings())["account"])
        try:
            async with open_companions(self._home, account) as companions:
                context = CallContext.starting_now(READ_TIMEOUT_S, continue_or_begin_trace(None))
                listed = await Upstream(companions).list_notebooks(context)
        except GatewayError as error:
            raise ReadRefused(error.code, error.message) from None
        return [(notebook.id, notebook.title or "Untitled notebook") for notebook in listed]

    async def page(self) -> tuple[PageKind, str]:
        await trio.lowlevel.checkpoint()
        return PageKind.NONE, ""

    async def connect_port(self) -> None:
        await trio.lowlevel.checkpoint()
        raise StepFailed(
            "port.silent", "the extension is not connected", "Reload the extension on chrome://extensions."
        )
