"""The harness's browser reaches the emulated service under its real names, and nothing else at all."""

from __future__ import annotations

import pytest
import trio

from cdp.connection import Session
from cdp.targets import attached
from harness.chain import open_chain
from harness.emulator.hosts import NOTEBOOK_HOSTS, SIGN_IN_HOST

pytestmark = pytest.mark.browser

ELSEWHERE = (
    "https://www.google.com/",
    "https://google.com/",
    "https://evil-notebook.google.com/",
    "https://notebook.google.com.evil.example/",
    "https://example.com/",
    "http://example.com/",
    "https://localhost.example/",
    "https://update.googleapis.com/",
)


async def open_address(session: Session, url: str) -> str:
    """Navigate and return Chrome's own error text; empty when the page came."""
    answer = await session.call("Page.navigate", {"url": url})
    return str(answer.get("errorText", ""))


async def test_every_name_but_the_emulated_ones_is_unresolvable() -> None:
    async with open_chain(open_tab=False) as chain:
        created = await chain.connection.call("Target.createTarget", {"url": "about:blank"})
        with trio.fail_after(30):
            async with attached(chain.connection, str(created["targetId"])) as session:
                for host in (*NOTEBOOK_HOSTS, SIGN_IN_HOST):
                    assert await open_address(session, f"https://{host}/") == "", host
                for url in ELSEWHERE:
                    assert await open_address(session, url) == "net::ERR_NAME_NOT_RESOLVED", url
