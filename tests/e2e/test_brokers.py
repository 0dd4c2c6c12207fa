"""Several agents on one browser: each gets the answers to its own calls, and nobody waits for a slow neighbour."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
import trio

from broker.link import ClientName, Link, open_link
from broker.replies import rpc_reply_of
from harness.control import Control
from harness.emulator.seed import DEFAULT_ALLOWED, DEMO_QUESTION, LIGHTHOUSE_ID, TRAMS_ID
from harness.mcp_client import McpClient
from native_host.build import BUILD
from native_host.protocol import MAX_OPEN_CALLS_PER_CONNECTION
from tests.e2e.raw_broker import TRACEPARENT, open_raw_broker
from tests.e2e.test_confinement import read_notebook
from tests.e2e.tool_calls import select, succeed

pytestmark = pytest.mark.browser

ACCOUNT = "ada@example.com"
BROKERS = 8
READS_EACH = 6
TOGETHER_S = 30.0


@pytest.fixture
async def links(chain: dict[str, Any], control: Control) -> AsyncGenerator[list[Link], None]:
    """Eight connections of our own client to one companion."""
    async with AsyncExitStack() as stack:
        name = ClientName("test", BUILD)
        yield [await stack.enter_async_context(open_link(Path(chain["socket"]), client=name)) for _ in range(BROKERS)]


async def read(link: Link, notebook: str) -> str:
    """Read one notebook and return the body of the answer."""
    result = await link.call(
        "rpc",
        read_notebook(notebook),
        notebook=notebook,
        account=ACCOUNT,
        deadline_s=trio.current_time() + TOGETHER_S,
        traceparent=TRACEPARENT,
    )
    reply = rpc_reply_of(result)
    assert reply.status == 200
    return reply.body


async def test_eight_brokers_at_once_get_the_answers_to_their_own_calls(links: list[Link]) -> None:
    """All connections count their calls from 1, so an id that lost its connection would meet another one's call."""
    wrong: list[tuple[str, str]] = []

    async def read_own(link: Link, notebook: str) -> None:
        for _ in range(READS_EACH):
            body = await read(link, notebook)
            wrong.extend((notebook, other) for other in DEFAULT_ALLOWED if (other in body) is not (other == notebook))

    with trio.fail_after(TOGETHER_S):
        async with trio.open_nursery() as nursery:
            for link, notebook in zip(links, islice(cycle(DEFAULT_ALLOWED), BROKERS), strict=True):
                for _ in range(2):
                    nursery.start_soon(read_own, link, notebook)
    assert wrong == []


async def test_four_sessions_work_in_four_notebooks_at_the_same_time(control: Control, gateway_client: Any) -> None:
    expected = {
        notebook["id"]: {source["id"] for source in notebook["sources"]}
        for notebook in control.state()["notebooks"]
        if notebook["id"] in DEFAULT_ALLOWED
    }

    async def work(client: McpClient, notebook_id: str) -> None:
        await client.initialize()
        await select(client, notebook_id)
        for _ in range(5):
            page = await succeed(client, "list_sources", {"page_size": 100})
            facts = await succeed(client, "get_notebook_metadata")
            assert facts["notebook"]["id"] == notebook_id
            assert page["total_count"] == len(expected[notebook_id])
            assert {source["id"] for source in page["sources"]} <= expected[notebook_id]

    notebooks = DEFAULT_ALLOWED[:4]
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(gateway_client()) for _ in notebooks]
        with trio.fail_after(2 * TOGETHER_S):
            async with trio.open_nursery() as nursery:
                for client, notebook_id in zip(clients, notebooks, strict=True):
                    nursery.start_soon(work, client, notebook_id)


async def test_two_sessions_ask_at_once_and_each_gets_its_own_answer_in_its_own_conversation(
    control: Control, gateway_client: Any
) -> None:
    answers: dict[str, dict[str, Any]] = {}
    questions = {
        LIGHTHOUSE_ID: DEMO_QUESTION,
        TRAMS_ID: "Why are the trams late at the stops?",
    }

    async def ask(client: McpClient, notebook_id: str) -> None:
        await client.initialize()
        await select(client, notebook_id)
        question = {"question": questions[notebook_id], "request_key": "the same key in both"}
        answers[notebook_id] = await succeed(client, "query_notebook", question)

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(gateway_client()) for _ in questions]
        async with trio.open_nursery() as nursery:
            for client, notebook_id in zip(clients, questions, strict=True):
                nursery.start_soon(ask, client, notebook_id)
    for notebook_id, answer in answers.items():
        assert answer["notebook_id"] == notebook_id
        place = notebook_id.split("-")[1]
        assert {citation["source_id"].split("-")[1] for citation in answer["citations"]} == {place}
    streams = [request for request in control.requests() if request["rpc"] == "stream"]
    assert len({request["params"][4] for request in streams}) == 2


async def test_a_broker_that_reads_nothing_does_not_hurt_the_others(chain: dict[str, Any], links: list[Link]) -> None:
    """Its answers pile up in the host, for that connection only."""
    async with open_raw_broker(chain["socket"]) as mute:
        for _ in range(MAX_OPEN_CALLS_PER_CONNECTION):
            await mute.send(mute.call_frame("rpc", read_notebook(TRAMS_ID), notebook=TRAMS_ID))
        with trio.fail_after(TOGETHER_S):
            for link in links:
                assert json.dumps(LIGHTHOUSE_ID) in (await read(link, LIGHTHOUSE_ID)).replace("\\", "")
        assert (await mute.result_of(1))["ok"]  # once it reads, its own answers are there
