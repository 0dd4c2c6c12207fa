"""Playwright's CDPSession over connect_over_cdp; its node process counts as the client's. argv: ws-url."""

from __future__ import annotations

import asyncio
import sys

import workload
from playwright.async_api import async_playwright


class Client:
    async def open(self, playwright):
        self._owner = await playwright.chromium.connect_over_cdp(sys.argv[1])
        self.browser = (await self._owner.new_browser_cdp_session()).send
        context = self._owner.contexts[0]
        session = await context.new_cdp_session(context.pages[0])
        self.page, self._on = session.send, session.on

    async def listen(self, method, callback):
        self._on(method, callback)


async def main():
    async with async_playwright() as playwright:
        client = Client()
        await client.open(playwright)
        await workload.run_asyncio(client, with_helpers=True)


asyncio.run(main())
