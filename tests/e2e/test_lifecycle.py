"""Parts that go away while a session lives: tab, worker, extension, host, client. The next call works.

What changes the companion's socket runs on a chain of its own; the shared one keeps the socket that it announced.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp.connection import Connection
from cdp.polling import until
from cdp.processes import MARK_VARIABLE, members
from harness.chain import Chain, open_chain
from harness.control import Control
from harness.emulator.faults import parse_fault
from harness.emulator.seed import DEMO_QUESTION
from harness.mcp_client import SERVE_COMMAND, McpClient, RpcError, ServerGone, open_client
from harness.tabs import close_tabs, leave_site, reload_tab
from native_host.paths import HOME_VARIABLE, companion_pid, companion_sockets
from tests.e2e.home_files import files_of_ours
from tests.e2e.raw_broker import open_raw_broker
from tests.e2e.tool_calls import call, select, succeed

pytestmark = pytest.mark.browser

RECOVERY_S = 8.0
"""Five seconds at most with a notebook tab (ADR-014), and three for a busy machine."""
SLOW_CHUNK_MS = 300.0
BROKEN_STREAM = {"STREAM_SEVERED", "TAB_DISCARDED", "COMPANION_OFFLINE"}


@pytest.fixture
async def own_chain() -> AsyncGenerator[Chain, None]:
    """A chain of this test alone."""
    async with open_chain() as chain:
        yield chain


@pytest.fixture
async def own_client(own_chain: Chain) -> AsyncGenerator[McpClient, None]:
    """A client on `own_chain` that has selected its notebook."""
    async with open_client(SERVE_COMMAND, env=own_chain.env) as client:
        with trio.fail_after(30):
            await client.initialize()
            await select(client)
        yield client


async def assert_next_call_works(client: McpClient) -> None:
    """No repeat: the very next call, without anybody's help."""
    with trio.fail_after(RECOVERY_S):
        assert (await succeed(client, "list_sources"))["sources"]


def question(key: str) -> dict[str, Any]:
    """The demo's question under a key."""
    return {"question": DEMO_QUESTION, "request_key": key}


class Asking:
    """A question on its way. `outcome` is its envelope once it has one."""

    def __init__(self) -> None:
        self.outcome: dict[str, Any] = {}
        self.request_id: int | None = None
        self.has_begun = trio.Event()

    async def ask(self, client: McpClient, key: str) -> None:
        self.outcome = await call(client, "query_notebook", question(key), on_progress=self._note)

    def _note(self, params: dict[str, Any]) -> None:
        self.request_id = params["progressToken"]
        self.has_begun.set()


@asynccontextmanager
async def asking(client: McpClient, key: str) -> AsyncGenerator[Asking]:
    """Run the block while a question streams; leaving it waits for the question's end."""
    asked = Asking()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.ask, client, key)
        with trio.fail_after(30):
            await asked.has_begun.wait()
        yield asked


async def kill_host(path: Path) -> None:
    """Kill the native host behind a socket; returns when its end can be seen, so that the next call is no open call."""
    pid = companion_pid(path.name)
    assert pid is not None

    async def is_dead() -> bool:
        try:
            async with await trio.open_unix_socket(str(path)):
                return False
        except OSError:
            return True

    os.kill(pid, signal.SIGKILL)
    await until(is_dead)


# -- worker, extension, host -----------------------------------------------------------------------------------------


async def test_c043_a_worker_that_was_stopped_is_back_for_the_next_call(
    own_chain: Chain, own_client: McpClient
) -> None:
    for _ in range(2):
        await own_chain.stop_worker()
        await assert_next_call_works(own_client)


async def test_c043_a_worker_stopped_under_a_question_severs_it_and_the_next_question_is_answered(
    own_chain: Chain, own_client: McpClient
) -> None:
    own_chain.emulator.state.options.chunk_delay_ms = SLOW_CHUNK_MS
    async with asking(own_client, "under-it") as asked:
        await own_chain.stop_worker()
    assert asked.outcome["error"]["code"] in BROKEN_STREAM, asked.outcome
    own_chain.emulator.state.options.chunk_delay_ms = 0
    assert (await succeed(own_client, "query_notebook", question("after-it")))["citations"]


async def test_c043_a_read_whose_worker_is_stopped_ends_soon_and_the_next_call_works(
    own_chain: Chain, own_client: McpClient
) -> None:
    envelopes: list[dict[str, Any]] = []

    async def read() -> None:
        envelopes.append(await call(own_client, "list_sources"))

    service = own_chain.emulator.service
    service.faults.waiting.append(parse_fault({"rpc": "rLM1Ne", "fault": "delay", "delay_ms": 60_000}))
    seen = len(service.log.entries)

    async def has_arrived() -> bool:
        return len(service.log.entries) > seen

    with trio.fail_after(RECOVERY_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await until(has_arrived)
            await own_chain.stop_worker()
    assert envelopes[0]["ok"] or envelopes[0]["error"]["retryable"], envelopes
    await assert_next_call_works(own_client)


async def test_an_extension_that_was_reloaded_is_back_for_the_next_call(
    own_chain: Chain, own_client: McpClient
) -> None:
    await own_chain.reload_extension()
    await assert_next_call_works(own_client)
    assert (await succeed(own_client, "query_notebook", question("after-reload")))["citations"]


async def test_c037_a_host_that_was_killed_leaves_a_dead_socket_and_the_next_call_works(
    own_chain: Chain, own_client: McpClient
) -> None:
    for _ in range(2):
        await kill_host(companion_sockets(own_chain.home)[0])
        await assert_next_call_works(own_client)


async def test_a_host_killed_under_a_question_ends_it_at_once(own_chain: Chain, own_client: McpClient) -> None:
    own_chain.emulator.state.options.chunk_delay_ms = 1_500
    async with asking(own_client, "killed") as asked:
        with trio.fail_after(RECOVERY_S):
            await kill_host(own_chain.socket)
            while not asked.outcome:
                await own_client.request("ping", {})
    assert asked.outcome["error"]["code"] in BROKEN_STREAM, asked.outcome


# -- tab -------------------------------------------------------------------------------------------------------------


async def test_a_tab_that_was_closed_is_opened_anew_by_the_next_call(client: McpClient, browser: Connection) -> None:
    await select(client)
    await close_tabs(browser)
    await assert_next_call_works(client)


@pytest.mark.parametrize("disturb", [reload_tab, leave_site, close_tabs])
async def test_c045_a_tab_lost_under_a_question_severs_it_and_the_next_question_is_answered(
    client: McpClient, control: Control, browser: Connection, disturb: Any
) -> None:
    await select(client)
    control.change_state({"chunk_delay_ms": SLOW_CHUNK_MS})
    async with asking(client, "lost") as asked:
        await disturb(browser)
    assert asked.outcome["error"]["code"] in {"STREAM_SEVERED", "TAB_DISCARDED"}, asked.outcome
    assert asked.outcome["error"]["retryable"] is True
    control.change_state({"chunk_delay_ms": 0})
    assert (await succeed(client, "query_notebook", question("after")))["citations"]


# -- client ----------------------------------------------------------------------------------------------------------


async def test_c005_a_cancelled_question_is_not_answered_and_its_key_collects_it(
    client: McpClient, control: Control
) -> None:
    await select(client)
    control.change_state({"chunk_delay_ms": SLOW_CHUNK_MS})
    asked = Asking()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.ask, client, "cancelled")
        await asked.has_begun.wait()
        nursery.cancel_scope.cancel()  # the client then sends notifications/cancelled, as agents' clients do
    assert await client.request("ping", {}) == {}
    assert (await succeed(client, "query_notebook", question("cancelled")))["citations"]
    assert await client.request("ping", {}) == {}
    answered = [message["id"] for message in client.received if "method" not in message]
    assert asked.request_id not in answered
    assert len(answered) == len(set(answered))
    assert len([request for request in control.requests() if request["rpc"] == "stream"]) == 1


@pytest.mark.parametrize("is_asking", [False, True], ids=["idle", "asking"])
async def test_c001_end_of_input_ends_serve_at_once_and_leaves_nothing(
    chain: dict[str, Any], control: Control, is_asking: bool
) -> None:
    home = Path(chain["env"][HOME_VARIABLE])
    mark = secrets.token_hex(8)
    control.change_state({"chunk_delay_ms": 1_500.0})
    async with open_client(SERVE_COMMAND, env={**chain["env"], MARK_VARIABLE: mark}) as client:
        await client.initialize()
        await select(client)
        before = files_of_ours(home)
        asked = Asking()

        async def ask_in_vain() -> None:
            with pytest.raises((RpcError, ServerGone)):
                await asked.ask(client, "never-answered")

        async with trio.open_nursery() as nursery:
            if is_asking:
                nursery.start_soon(ask_in_vain)
                await asked.has_begun.wait()
            with trio.fail_after(2):
                assert await client.close() == 0
        assert list(client.stderr_lines) == []
    assert members(-1, mark) == []
    assert files_of_ours(home) == before
    async with open_raw_broker(chain["socket"]) as broker:
        with trio.fail_after(5):
            while (await broker.call("status", {}))["value"]["open_calls"] > 1:
                pass  # one is this very call; each turn is a round trip to the worker
