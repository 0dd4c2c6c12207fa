"""From a call to a write."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from broker.calls import CallContext
from broker.journal_rows import Request
from broker.mutations import Mutation, Result
from broker.session import ToolCall
from broker.write_requests import carry_out, make_request
from harness.emulator.seed import EMPTY_PLAN_ID
from tests.broker.emulator_companion import ACCOUNT
from tests.broker.session_helpers import Bench, open_bench


def call_of(bench: Bench) -> ToolCall:
    return ToolCall(bench.session, CallContext.starting_now(60, "00-t"))


async def name(bench: Bench, notebook_id: str = EMPTY_PLAN_ID) -> Request:
    return await make_request(bench.session, notebook_id, "create_note", "k", {"a": 1}, "looks", call_of(bench))


async def test_one_address_in_two_spellings_names_one_write(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        (bench.home / "config.toml").write_text(f'account = "{ACCOUNT.upper()}"\n')
        assert (await name(bench)).account == ACCOUNT


async def test_the_notebook_is_part_of_what_a_key_stands_for(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        assert (await name(bench, "one")).payload_hash != (await name(bench, "two")).payload_hash


async def test_what_a_write_shows_of_itself_is_the_running_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.mutations.ANSWER_WITHIN_S", 0.01)
    goes_on = trio.Event()

    async def write(mutation: Mutation) -> Result:
        mutation.show(stage="slow")
        await mutation.mark_sent("one", {})
        await goes_on.wait()
        return {"status": "created"}

    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        request, call = await name(bench), call_of(bench)
        while (facts := await carry_out(bench.session, request, write, call)) == {"status": "running"}:
            pass  # nothing is shown before the write has begun
        assert facts == {"status": "running", "stage": "slow"}
        goes_on.set()
        await bench.session.mutations.drain()
        assert await carry_out(bench.session, request, write, call) == {"status": "created", "replayed": True}
