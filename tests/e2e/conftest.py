"""Short names for the chain's fixtures: these tests are about the product, not about the harness."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio

from cdp.connection import Connection, open_connection
from harness.control import Control
from harness.mcp_client import McpClient


@pytest.fixture
def chain(gateway_chain: dict[str, Any]) -> dict[str, Any]:
    """The chain's JSON document."""
    return gateway_chain


@pytest.fixture
def control(gateway_control: Control) -> Control:
    """The emulator, put back to its seed."""
    return gateway_control


@pytest.fixture
async def browser(chain: dict[str, Any]) -> AsyncGenerator[Connection, None]:
    """A browser-level CDP connection beside the chain's own, with no session on the extension's worker."""
    async with open_connection(chain["browser"]["cdp_url"]) as connection:
        yield connection


@pytest.fixture
async def client(control: Control, gateway_client: Any) -> AsyncGenerator[McpClient, None]:
    """A client that has shaken hands with a `serve` process of its own."""
    async with gateway_client() as started:
        with trio.fail_after(30):
            await started.initialize()
        yield started
