"""What one writes first on trio-websocket: json, an Event per call, one reader task. argv: ws-url."""

from __future__ import annotations

import json
import sys
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from bench.cdp_peers import workload as w


class PlainClient:
    """Nothing wrong with it, and nothing tuned but the message size, without which the large answers fail."""

    def __init__(self, websocket: WebSocketConnection) -> None:
        self._websocket = websocket
        self._last_id = 0
        self._open: dict[int, tuple[trio.Event, list[Any]]] = {}
        self.events_seen = 0
        self.all_seen = trio.Event()

    async def call(self, method: str, params: object = None, session_id: str | None = None) -> Any:
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": params or {}}
        if session_id is not None:
            command["sessionId"] = session_id
        event, answer = self._open[self._last_id] = (trio.Event(), [])
        await self._websocket.send_message(json.dumps(command))
        await event.wait()
        return answer[0]["result"]

    async def read(self) -> None:
        while True:
            message = json.loads(await self._websocket.get_message())
            if "id" in message:
                event, answer = self._open.pop(message["id"])
                answer.append(message)
                event.set()
            elif message["method"] == "Runtime.bindingCalled":
                self.events_seen += 1
                if self.events_seen == w.EVENTS:
                    self.all_seen.set()


async def main() -> None:
    phases = w.Phases()
    async with open_websocket_url(sys.argv[1], max_message_size=1 << 28) as websocket, trio.open_nursery() as nursery:
        client = PlainClient(websocket)
        nursery.start_soon(client.read)
        for _ in range(w.WARM_UP):
            await client.call("Browser.getVersion")
        with phases.measure("sequential", w.SEQUENTIAL):
            for _ in range(w.SEQUENTIAL):
                await client.call("Browser.getVersion")
        left = w.IN_FLIGHT_CALLS

        async def call_on() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                await client.call("Browser.getVersion")

        with phases.measure("in_flight", w.IN_FLIGHT_CALLS):
            async with trio.open_nursery() as callers:
                for _ in range(w.IN_FLIGHT):
                    callers.start_soon(call_on)
        targets = (await client.call("Target.getTargets"))["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attach = {"targetId": page, "flatten": True}
        session_id = (await client.call("Target.attachToTarget", attach))["sessionId"]
        with phases.measure("large_mb", w.LARGE_CALLS * w.LARGE_BYTES / 1e6):
            for _ in range(w.LARGE_CALLS):
                params = {"expression": w.LARGE_EXPRESSION, "returnByValue": True}
                await client.call("Runtime.evaluate", params, session_id)
        await client.call("Runtime.addBinding", {"name": "benchEvent"}, session_id)
        with phases.measure("events", w.EVENTS):
            await client.call("Runtime.evaluate", {"expression": w.EVENTS_EXPRESSION}, session_id)
            await client.all_seen.wait()
        phases.print()
        nursery.cancel_scope.cancel()


trio.run(main)
