"""The person's account is not asked too much, by however many agents; and one that is slowed down rests for all."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import trio

from harness.control import Control
from native_host import paths
from tests.e2e.tool_calls import fail, select, succeed

pytestmark = pytest.mark.browser

PER_MINUTE = 6


@pytest.fixture
def small_budget(chain: dict[str, Any]) -> Generator[None]:
    """Brokers that start from here on may send six requests a minute."""
    path = paths.config_file(Path(chain["env"][paths.HOME_VARIABLE]))
    text = path.read_text()
    path.write_text(text.replace("requests_per_minute = 0", f"requests_per_minute = {PER_MINUTE}"))
    yield
    path.write_text(text)


@pytest.mark.usefixtures("small_budget")
async def test_two_agents_share_the_budget_and_a_refused_call_reaches_nobody(
    control: Control, gateway_client: Any
) -> None:
    async with gateway_client() as first, gateway_client() as second:
        with trio.fail_after(30):
            await first.initialize()
            await second.initialize()
        await select(first)
        await select(second)
        control.clear_requests()
        error: dict[str, Any] | None = None
        for _ in range(PER_MINUTE + 1):
            envelope = (await first.call_tool("list_sources", {}))["structuredContent"]
            if not envelope["ok"]:
                error = envelope["error"]
                break
        assert error is not None
        assert (error["code"], error["retryable"], error["details"]["limit"]) == ("RATE_LIMITED", True, "budget")
        assert 0 < error["details"]["retry_after_s"] <= 60
        sent = len(control.requests())
        assert (await fail(second, "list_sources"))["details"]["limit"] == "budget"
        assert len(control.requests()) == sent <= PER_MINUTE


async def test_a_429_to_one_agent_lets_all_agents_of_the_account_wait(control: Control, gateway_client: Any) -> None:
    async with gateway_client() as first, gateway_client() as second:
        with trio.fail_after(30):
            await first.initialize()
            await second.initialize()
        await select(first)
        await select(second)
        control.add_fault({"rpc": "rLM1Ne", "fault": "http_429", "retry_after_s": 2, "times": 1})
        assert (await fail(first, "list_sources"))["details"]["retry_after_s"] == 2
        control.clear_requests()
        error = await fail(second, "list_sources")
        assert (error["code"], error["details"]["limit"]) == ("RATE_LIMITED", "upstream")
        assert control.requests() == []
        await trio.sleep(error["details"]["retry_after_s"])  # as the error tells the agent to
        assert (await succeed(second, "list_sources"))["sources"]
        assert (await succeed(first, "list_sources"))["sources"]
