"""cdp-use. argv: ws-url."""

from __future__ import annotations

import asyncio
import sys

import workload
from cdp_use.client import CDPClient


class Client:
    def __init__(self, cdp):
        self._cdp = cdp

    async def attach(self):
        targets = (await self.browser("Target.getTargets"))["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        answer = await self._cdp.send_raw("Target.attachToTarget", {"targetId": page, "flatten": True})
        self._session_id = answer["sessionId"]

    def browser(self, method):
        return self._cdp.send_raw(method, {})

    def page(self, method, params):
        return self._cdp.send_raw(method, params, self._session_id)

    async def listen(self, method, callback):
        domain, event = method.split(".")
        getattr(getattr(self._cdp.register, domain), event)(lambda params, session_id: callback())


async def main():
    async with CDPClient(sys.argv[1], max_ws_frame_size=1 << 28) as cdp:
        client = Client(cdp)
        await client.attach()
        await workload.run_asyncio(client)


asyncio.run(main())
