"""zendriver's Connection. argv: ws-url."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request

import workload
from zendriver import cdp
from zendriver.core.connection import Connection


class Client:
    def __init__(self, browser_url, page_url):
        self._browser, self._page = Connection(browser_url), Connection(page_url)

    def browser(self, method):
        return self._browser.send(cdp.browser.get_version())

    def page(self, method, params):
        if method == "Runtime.addBinding":
            return self._page.send(cdp.runtime.add_binding(params["name"]))
        return self._page.send(cdp.runtime.evaluate(params["expression"], return_by_value=True))

    async def listen(self, method, callback):
        self._page.add_handler(cdp.runtime.BindingCalled, lambda *_: callback())


async def main():
    base = "http" + sys.argv[1].removeprefix("ws").partition("/devtools/")[0]
    with urllib.request.urlopen(f"{base}/json/list") as answer:
        page = next(target for target in json.load(answer) if target["type"] == "page")
    await workload.run_asyncio(Client(sys.argv[1], page["webSocketDebuggerUrl"]))
    os._exit(0)  # it has tasks that do not end


asyncio.run(main())
