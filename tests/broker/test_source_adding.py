"""Sources whose answer is lost or says neither yes nor no, through the tool and over the emulator's own state."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import define

from broker.companion import RpcReply
from broker.errors import CompanionOffline
from harness.emulator.framing import status_row, whole_body
from harness.emulator.rpc_table import WRITES
from harness.emulator.seed import EMPTY_PLAN_ID
from harness.emulator.source_specs import TAIL_NEW
from harness.emulator.writes import Write
from tests.broker.emulator_companion import ACCOUNT
from tests.broker.session_helpers import Bench, Browser, open_bench

ADDRESS = "https://example.com/a"
ADD = {"source": {"type": "url", "url": ADDRESS}, "idempotency_key": "k"}
LOST = "lost"
STATUS_3 = "status 3"


@define(eq=False)
class DoubtfulBrowser(Browser):
    """Answers the first addition with `answer`, and has it carried out when the notebook was looked at so often."""

    answer: str | None = None
    looks_until_done: int | None = None
    _held: object = None

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        async def ask(rpc_id: str, params: object) -> RpcReply:
            return await Browser.rpc(
                self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
            )

        if rpc_id == "izAoDd" and self.answer is not None:
            answer, self.answer, self._held = self.answer, None, params
            if answer == LOST:
                raise CompanionOffline("The connection was reset.")
            return RpcReply(200, whole_body(status_row(rpc_id, [3]), duration_ms=1, serial=1))
        if rpc_id == "rLM1Ne" and self._held is not None and self.looks_until_done is not None:
            self.looks_until_done -= 1
            if self.looks_until_done < 0:
                held, self._held = self._held, None
                await ask("izAoDd", held)
        return await ask(rpc_id, params)


def doubtful(bench: Bench, answer: str, looks_until_done: int | None) -> None:
    assert isinstance(bench.browser, DoubtfulBrowser)
    bench.browser.answer, bench.browser.looks_until_done = answer, looks_until_done


def ids(bench: Bench) -> list[str]:
    return [source.id for source in bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account).sources]


async def select(bench: Bench) -> None:
    await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})


async def test_c075_of_two_sources_with_one_address_the_new_one_is_ours(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=DoubtfulBrowser) as bench:
        await select(bench)
        older = (await bench.result("add_source", {**ADD, "idempotency_key": "older"}))["source_id"]
        doubtful(bench, LOST, looks_until_done=0)
        result = await bench.result("add_source", ADD)
        assert ids(bench) == [older, result["source_id"]]


async def test_c075_an_older_source_of_the_same_address_is_never_a_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=DoubtfulBrowser) as bench:
        await select(bench)
        older = (await bench.result("add_source", {**ADD, "idempotency_key": "older"}))["source_id"]
        doubtful(bench, LOST, looks_until_done=None)
        for _ in range(2):
            assert (await bench.error("add_source", ADD))["code"] == "MUTATION_UNKNOWN"
        assert ids(bench) == [older]


async def test_c076_a_refused_source_that_appears_after_some_looks_is_added(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=DoubtfulBrowser) as bench:
        await select(bench)
        doubtful(bench, STATUS_3, looks_until_done=2)
        result = await bench.result("add_source", ADD)
        assert (result["status"], [result["source_id"]]) == ("added", ids(bench))


async def test_c076_a_refused_source_that_never_appears_stays_unknown_and_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=DoubtfulBrowser) as bench:
        await select(bench)
        doubtful(bench, STATUS_3, looks_until_done=None)
        for _ in range(2):
            assert (await bench.error("add_source", ADD))["code"] == "MUTATION_UNKNOWN"
        assert ids(bench) == []


async def test_c076_a_full_notebook_is_named_as_a_possible_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await select(bench)
        bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account).source_limit = 0
        error = await bench.error("add_source", ADD)
        assert error["code"] == "MUTATION_UNKNOWN"
        assert "limit of sources" in error["message"]
        assert bench.browser.calls.count("izAoDd") == 1


async def test_a_text_pasted_meanwhile_is_not_taken_for_a_lost_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no address, but neither need an address that the service has only begun to read."""
    monkeypatch.setattr("broker.proving.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=DoubtfulBrowser) as bench:
        await select(bench)
        doubtful(bench, LOST, looks_until_done=None)
        assert (await bench.error("add_source", ADD))["code"] == "MUTATION_UNKNOWN"
        params = [[[None, ["Log", "Calm."], None, 2, *[None] * 6, 1]], EMPTY_PLAN_ID, *TAIL_NEW]
        WRITES["izAoDd"](Write(bench.browser.state, bench.browser.state.account(ACCOUNT), params))
        assert len(ids(bench)) == 1
        assert (await bench.error("add_source", ADD))["code"] == "MUTATION_UNKNOWN"


@define(eq=False)
class ShortSightedBrowser(DoubtfulBrowser):
    """Fails the look after the one that found the source, and lets its sources be deleted then if it `is_emptied`."""

    is_emptied: bool = False
    has_found: bool = False
    has_failed: bool = False

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        if rpc_id == "rLM1Ne" and self.has_found and not self.has_failed:
            self.has_failed = True
            if self.is_emptied:
                self.state.notebook_for(EMPTY_PLAN_ID, self.account).sources.clear()
            raise CompanionOffline("The connection was reset.")
        reply = await DoubtfulBrowser.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )
        self.has_found = self.has_found or (rpc_id == "rLM1Ne" and ADDRESS in reply.body)
        return reply


@pytest.mark.parametrize("is_emptied", [False, True])
async def test_a_proven_source_that_could_not_be_looked_at_is_looked_at_once_more(
    tmp_path: Path, is_emptied: bool
) -> None:
    """Added means that it is there: a source that somebody deleted meanwhile is told as gone, with its id."""
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=ShortSightedBrowser) as bench:
        await select(bench)
        doubtful(bench, LOST, 0)
        assert isinstance(bench.browser, ShortSightedBrowser)
        bench.browser.is_emptied = is_emptied
        envelope = await bench.call("add_source", ADD)
        if is_emptied:
            assert envelope["error"]["code"] == "NOT_FOUND"
            assert envelope["error"]["details"]["source_id"]
        else:
            assert envelope["result"]["source"]["id"] == envelope["result"]["source_id"]
