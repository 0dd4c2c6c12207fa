"""The harness's MCP client where its server goes away under it."""

from __future__ import annotations

from typing import cast

import trio
import trio.testing
from attrs import define

from harness.mcp_client import McpClient


@define
class _Input:
    """A server's input that breaks once `is_broken` is set."""

    is_broken: bool = False

    async def send_all(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_broken:
            raise trio.BrokenResourceError


@define
class _Process:
    """The part of a process that a request uses."""

    stdin: _Input
    pid: int = 1


async def test_a_request_cancelled_after_its_server_was_killed_is_cancelled_and_nothing_else() -> None:
    """Its `notifications/cancelled` finds a broken pipe; that must not replace the cancellation."""
    stdin = _Input()
    client = McpClient(cast("trio.Process", _Process(stdin)))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.request, "ping")
            await trio.testing.wait_all_tasks_blocked()
            stdin.is_broken = True
            nursery.cancel_scope.cancel()
        assert nursery.cancel_scope.cancelled_caught
