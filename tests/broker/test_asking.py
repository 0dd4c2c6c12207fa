"""Which conversation a question goes to. The rest of asking is played in tests/broker/tools/test_query_notebook.py."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from broker.asking import ask
from broker.calls import CallContext
from broker.companion import AnswerChunks
from broker.errors import AllowlistDenied
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from tests.broker.session_helpers import Bench, Browser, open_bench

OLD = "c0ffee00-0000-4000-8000-000000000001"


class Forgetful(Browser):
    """An extension that no longer knows the conversation it minted."""

    refusal = AllowlistDenied("unknown", details={"side": "extension", "reason": "unknown_id"}, started=False)

    @asynccontextmanager
    async def stream(self, params: Any, **about: Any) -> AsyncGenerator[AnswerChunks]:
        if params[4] == OLD:
            self.asked.append(params)
            raise self.refusal
        async with Browser.stream(self, params, **about) as chunks:
            yield chunks


async def ask_in_old_conversation(bench: Bench) -> None:
    browser = Forgetful(bench.browser.state)
    bench.browser = browser
    bench.session.upstream._companion = browser
    bench.session.conversation = OLD
    ctx = CallContext.starting_now(60, "00-x")
    await ask(bench.session, LIGHTHOUSE_ID, DEMO_QUESTION, None, ctx, lambda text: None)


async def test_a_conversation_that_the_extension_forgot_is_replaced_by_a_new_one(tmp_path: Path):
    """ADR-035: nothing was sent, so asking anew asks once."""
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        await ask_in_old_conversation(bench)
        assert [params[4] for params in bench.browser.asked] == [OLD, None]


@pytest.mark.parametrize(
    "refusal",
    [
        AllowlistDenied("denied", details={"side": "extension"}, started=False),
        AllowlistDenied("unknown", details={"reason": "unknown_id"}, started=True),
    ],
)
async def test_any_other_refusal_is_final(tmp_path: Path, refusal: AllowlistDenied, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Forgetful, "refusal", refusal)
    async with open_bench(tmp_path, LIGHTHOUSE_ID) as bench:
        with pytest.raises(AllowlistDenied):
            await ask_in_old_conversation(bench)
        assert len(bench.browser.asked) == 1
