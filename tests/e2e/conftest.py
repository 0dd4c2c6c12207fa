"""Short names for the chain's fixtures: these tests are about the product, not about the harness."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp.connection import Connection, open_connection
from harness.control import Control
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.mcp_client import McpClient
from tests.e2e.kept_broker import KeptBroker, running_broker
from tests.e2e.writing import Service, make_project


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


@pytest.fixture
def service(control: Control) -> Service:
    """The service as tests of writes look at it, put back to its seed."""
    return Service(control)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder, whose files may be uploaded."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def kept_broker(gateway_chain: dict[str, Any], project: Path) -> Generator[KeptBroker]:
    """A broker that all tests of a module use, one after the other."""
    with running_broker(gateway_chain["env"], project) as broker:
        yield broker


@pytest.fixture(scope="module")
def other_kept_broker(gateway_chain: dict[str, Any], project: Path) -> Generator[KeptBroker]:
    """A second one."""
    with running_broker(gateway_chain["env"], project) as broker:
        yield broker


@pytest.fixture
async def agent(kept_broker: KeptBroker, service: Service) -> AsyncGenerator[McpClient, None]:
    """A session in the empty notebook."""
    async with kept_broker.session(EMPTY_PLAN_ID) as client:
        service.control.clear_requests()
        yield client


@pytest.fixture
async def other_agent(other_kept_broker: KeptBroker, service: Service) -> AsyncGenerator[McpClient, None]:
    """Another agent in the same notebook, with a broker of its own."""
    async with other_kept_broker.session(EMPTY_PLAN_ID) as client:
        service.control.clear_requests()
        yield client
