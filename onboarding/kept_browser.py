"""The managed browser as the steps see it: through its keeper, whose refusals become failures of a step."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from onboarding.browsers import ReadRefused
from onboarding.keeper_client import KeeperClient, KeeperFailed, NoKeeper
from onboarding.pages import PageKind
from onboarding.run import Notebooks
from onboarding.steps import StepFailed

FAULT_CODES: Final = frozenset({"AUTH_REQUIRED", "ACCOUNT_MISMATCH", "UPSTREAM_REJECTED", "UPSTREAM_SCHEMA_DRIFT"})
"""What the keeper passes on from the extension (`extension/lib/errors.js`); its own refusals have other codes."""


class KeptBrowser:
    """The managed browser, through its keeper."""

    def __init__(self, keeper: KeeperClient) -> None:
        self._keeper = keeper

    async def set_settings(self, account: str, notebooks: Notebooks) -> None:
        async with keeper_failures("settings"):
            await self._keeper.set_settings(account, notebooks)

    async def get_settings(self) -> dict[str, object]:
        async with keeper_failures("settings"):
            return await self._keeper.get_settings()

    async def notebooks(self) -> list[tuple[str, str]]:
        async with keeper_failures("account"):
            return await self._keeper.notebooks()

    async def page(self) -> tuple[PageKind, str]:
        async with keeper_failures("page"):
            status = await self._keeper.status()
        return PageKind(status.page or PageKind.NONE), status.host

    async def connect_port(self) -> None:
        async with keeper_failures("port"):
            await self._keeper.wake()


@asynccontextmanager
async def keeper_failures(step: str) -> AsyncGenerator[None]:
    """Turn the keeper's refusals into failures of a step, and the extension's faults into `ReadRefused`."""
    try:
        yield
    except NoKeeper:
        raise StepFailed(f"{step}.no-browser", "the managed browser has ended", "Run the command again.") from None
    except KeeperFailed as error:
        if error.code in FAULT_CODES:
            raise ReadRefused(error.code, str(error)) from None
        raise StepFailed(f"{step}.refused", str(error), error.hint) from None
