"""Pytest fixtures for the headless chain; registered by installing ``notebook-gateway[harness]``.

- ``gateway_chain`` (session): the chain's JSON document, as ``notebook-gateway harness up --json`` prints it:
  ``{"env", "upstream", "browser", "socket"}``. Started once, in a process of its own, and ended with the session.
- ``gateway_control``: a `harness.control.Control` on the emulator, which is put back to its seed first.
- ``gateway_client``: ``async with gateway_client() as client`` starts `notebook-gateway serve` on that chain and gives
  a `harness.mcp_client.McpClient`. Works with any way of running Trio in tests.

Heavy imports happen inside the fixtures: this module is imported by every pytest run of the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.control import Control
    from harness.mcp_client import McpClient


@pytest.fixture(scope="session")
def gateway_chain() -> Generator[dict[str, Any]]:
    """The chain of this session. Fails with what the harness said when a hop does not come up."""
    from harness.process import running_chain

    with running_chain() as chain:
        yield chain


@pytest.fixture
def gateway_control(gateway_chain: dict[str, Any]) -> Control:
    """The emulator's control endpoint, after a reset; a back-off that an earlier test brought about is over too."""
    from harness.control import Control
    from harness.home import forget_back_offs

    control = Control(gateway_chain["upstream"]["control_url"], gateway_chain["upstream"]["control_token"])
    control.reset()
    forget_back_offs(gateway_chain["env"])
    return control


@pytest.fixture
def gateway_client(gateway_chain: dict[str, Any]) -> Callable[[], AbstractAsyncContextManager[McpClient]]:
    """A factory of MCP clients, each with a `serve` process of its own."""
    from harness.mcp_client import SERVE_COMMAND, open_client

    return partial(open_client, SERVE_COMMAND, env=gateway_chain["env"])
