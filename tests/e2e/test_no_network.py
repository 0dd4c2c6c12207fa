"""No process of ours speaks to the network: what a session of `serve` connects to and binds, by system call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio

from harness.control import Control
from harness.emulator.seed import DEMO_QUESTION
from harness.mcp_client import SERVE_COMMAND, open_client
from tests.e2e.tool_calls import select, succeed

pytestmark = pytest.mark.browser

FAMILY = re.compile(r"(?:connect|bind)\(\d+, \{sa_family=(AF_\w+)")
SENT_TO_AN_ADDRESS = re.compile(r"send(?:to|msg)\([^)]*sa_family=(AF_INET6?)")


async def test_a_session_of_serve_connects_to_unix_sockets_only(
    chain: dict[str, Any], control: Control, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    traced = ("strace", "-f", "-qq", "-e", "trace=connect,bind,sendto,sendmsg", "-o", str(trace), *SERVE_COMMAND)
    with trio.fail_after(60):
        async with open_client(traced, env=chain["env"]) as client:
            await client.initialize()
            await select(client)
            await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "network"})
            await succeed(client, "create_note", {"title": "T", "content": "C", "idempotency_key": "network"})
    calls = trace.read_text()
    assert set(FAMILY.findall(calls)) == {"AF_UNIX"}, calls
    assert SENT_TO_AN_ADDRESS.findall(calls) == []
