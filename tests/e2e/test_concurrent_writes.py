"""Many writes at once from many brokers, whose clients change their minds: every key has exactly one item (C-028)."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from itertools import cycle
from random import Random
from typing import Any

import pytest
import trio
from attrs import define, field, frozen

from cdp.polling import until
from harness.mcp_client import McpClient
from tests.e2e.tool_calls import call
from tests.e2e.writing import Service, open_session

pytestmark = pytest.mark.browser

BROKERS = 8
WRITES = 200
SHARED = 24
"""So many of the keys are used by two brokers at the same time."""
CALLED_OFF = 1 / 3
"""The share of the calls that their client calls off."""
CALLED_OFF_WITHIN_S = 6.0
WITHIN_S = 150.0
"""For a machine that does something else as well; alone, two slow cores need a third of it."""


@frozen
class Order:
    """One write: its title is its key, so that the notebook tells which writes it has, and how often."""

    key: str
    tool: str

    @classmethod
    def numbered(cls, number: int) -> Order:
        return cls(f"order {number}", "create_note" if number % 2 else "add_source")

    @property
    def arguments(self) -> dict[str, Any]:
        fields = {"title": self.key, "content": f"What {self.key} says."}
        made = fields if self.tool == "create_note" else {"source": {"type": "text", **fields}}
        return {"idempotency_key": self.key, **made}


@define
class Agents:
    """What the brokers said of each order."""

    clients: list[McpClient]
    rng: Random
    called_off: int = 0
    ids: dict[str, set[str]] = field(factory=dict[str, set[str]])
    first: Counter[str] = field(factory=Counter[str])
    """Key → answers that were no replays."""

    async def write(self, order: Order, client: McpClient) -> None:
        """Make the call, or begin to."""
        patience_s = self.rng.uniform(0, CALLED_OFF_WITHIN_S) if self.rng.random() < CALLED_OFF else WITHIN_S
        with trio.move_on_after(patience_s) as scope:
            await self._call(order, client)
        self.called_off += scope.cancelled_caught

    async def settle(self, order: Order, client: McpClient) -> None:
        """Make the call until it is settled."""
        await until(partial(self._call, order, client))

    async def _call(self, order: Order, client: McpClient) -> bool:
        envelope = await call(client, order.tool, order.arguments)
        assert envelope["ok"], (order, envelope)
        result = envelope["result"]
        if result["status"] == "running":
            return False
        made = str(result["note_id"] if order.tool == "create_note" else result["source_id"])
        self.ids.setdefault(order.key, set()).add(made)
        self.first[order.key] += not result["replayed"]
        return True


async def test_c028_two_hundred_writes_of_eight_brokers_make_two_hundred_items(
    chain: dict[str, Any], service: Service
) -> None:
    orders = [Order.numbered(number) for number in range(WRITES)]
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(open_session(chain["env"])) for _ in range(BROKERS)]
        service.control.clear_requests()
        agents = Agents(clients, Random(3))
        with trio.fail_after(WITHIN_S):
            async with trio.open_nursery() as nursery:
                for order, client in zip(orders, cycle(clients), strict=False):
                    nursery.start_soon(agents.write, order, client)
                for order, client in zip(orders[:SHARED], cycle([*clients[3:], *clients[:3]]), strict=False):
                    nursery.start_soon(agents.write, order, client)
            async with trio.open_nursery() as nursery:
                # Any broker may be asked for what another began.
                for order, client in zip(orders, cycle(reversed(clients)), strict=False):
                    nursery.start_soon(agents.settle, order, client)
    assert agents.called_off > WRITES / 10
    for order in orders:
        assert len(agents.ids[order.key]) == 1, order
        assert agents.first[order.key] <= 1, order
    items = {source["title"]: source["id"] for source in service.sources()} | {
        note["title"]: note["id"] for note in service.live_notes()
    }
    assert items == {key: made for key, (made,) in agents.ids.items()}
    assert len(service.sources()) + len(service.live_notes()) == WRITES
    created = Counter(service.writes())
    assert created["izAoDd"] == created["CYK0Xb"] == WRITES / 2
