"""The hops in the browser, over the emulator's own state: fine answers, refusals, and answers of another shape."""

from __future__ import annotations

from typing import Any

import pytest

from broker.allowlist import Allowed
from broker.companion import RpcReply
from broker.errors import (
    AccountMismatch,
    AuthRequired,
    CompanionOffline,
    DeadlineExceeded,
    RateLimited,
    TabDiscarded,
    UpstreamSchemaDrift,
)
from broker.upstream import Upstream
from harness.emulator.seed import LIGHTHOUSE_ID
from harness.emulator.state import ServiceState
from notebook_gateway.doctor import page
from notebook_gateway.doctor.page import Browser
from onboarding.doctor.report import HopReport
from tests.broker import session_helpers
from tests.broker.emulator_companion import ACCOUNT

EVERYTHING = Allowed(everything=True)
DRIFTED = ")]}'\n\n" + '40\n[["wrb.fr","%s","[\\"moved\\"]",null,null,null,"generic"]]\n'


class Companion(session_helpers.Browser):
    """Answers `drifted` calls in a shape that nobody knows."""

    drifted: tuple[str, ...] = ()
    paused: bool = False

    async def status(self, *, deadline_s: float, traceparent: str) -> dict[str, object]:
        return {**await super().status(deadline_s=deadline_s, traceparent=traceparent), "paused": self.paused}

    async def rpc(self, rpc_id: str, params: object, **more: Any) -> RpcReply:
        if rpc_id in self.drifted:
            return RpcReply(200, DRIFTED % rpc_id)
        return await super().rpc(rpc_id, params, **more)


def browser(allowed: Allowed = EVERYTHING) -> Browser:
    companion = Companion(ServiceState())
    return Browser(companion, Upstream(companion), ACCOUNT, allowed)


def companion_of(opened: Browser) -> Companion:
    assert isinstance(opened.companion, Companion)
    return opened.companion


def ids(report: HopReport) -> list[str]:
    return [finding.id for finding in report.findings]


async def test_every_hop_of_a_working_browser_is_fine() -> None:
    opened = browser()
    reports = [await page.examine_worker(opened), page.describe_tab(opened), await page.examine_page(opened)]
    reports += [page.examine_account(opened), await page.examine_read(opened), await page.examine_shapes(opened)]
    assert [ids(report) for report in reports] == [[]] * 6
    assert opened.notebooks
    titles = {notebook.title for notebook in opened.notebooks}
    assert not any(title and title in report.detail for title in titles for report in reports)


async def test_only_calls_that_read_are_made_and_no_question_is_asked() -> None:
    opened = browser()
    await page.examine_read(opened)
    await page.examine_shapes(opened)
    assert companion_of(opened).calls == ["wXbhsf", "rLM1Ne", "cFji9", "hizoJc", "tr032e"]


async def test_a_pause_is_the_persons_and_is_told_as_one() -> None:
    opened = browser()
    companion_of(opened).paused = True
    assert ids(await page.examine_worker(opened)) == ["worker.paused"]


@pytest.mark.parametrize(
    ("by_file", "by_extension", "expected"),
    [
        (EVERYTHING, "*", []),
        (Allowed(frozenset({LIGHTHOUSE_ID})), "*", []),
        (Allowed(frozenset({LIGHTHOUSE_ID})), [LIGHTHOUSE_ID], []),
        (EVERYTHING, [LIGHTHOUSE_ID], ["allowlist.differs"]),
        (Allowed(frozenset({LIGHTHOUSE_ID})), [], ["allowlist.differs"]),
        (EVERYTHING, 5, ["worker.silent"]),
    ],
)
async def test_the_two_allowlists_are_compared(by_file: Allowed, by_extension: object, expected: list[str]) -> None:
    opened = browser(by_file)
    companion_of(opened).notebooks = by_extension
    assert ids(await page.examine_worker(opened)) == expected


async def test_a_worker_that_does_not_answer() -> None:
    opened = browser()
    companion_of(opened).error = DeadlineExceeded("no answer in 5 s")
    assert ids(await page.examine_worker(opened)) == ["worker.silent"]


@pytest.mark.parametrize(
    ("tab", "said"), [(None, "none open"), ({"state": "ready", "host": "notebook.google.com"}, "ready on notebook")]
)
def test_the_tab_is_described(tab: object, said: str) -> None:
    opened = browser()
    opened.tab = tab
    report = page.describe_tab(opened)
    assert (ids(report), said in report.detail) == ([], True)


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (AuthRequired("signed out"), "page.sign-in"),
        (UpstreamSchemaDrift("identity", "$", "an account"), "page.changed"),
        (TabDiscarded("closed"), "tab.none"),
        (AccountMismatch("somebody else"), "account.mismatch"),
        (CompanionOffline("no script"), "page.failed"),
    ],
)
async def test_each_way_in_which_the_page_fails_has_its_finding(error: Any, finding: str) -> None:
    opened = browser()
    companion_of(opened).error = error
    report = await page.examine_page(opened)
    assert ids(report) == [finding]
    assert error.message in report.findings[0].detail


async def test_c051_another_account_on_the_page_is_named() -> None:
    opened = browser()
    opened.page_account = "grace@example.com"
    report = page.examine_account(opened)
    assert ids(report) == ["account.mismatch"]
    assert "grace@example.com" in report.findings[0].detail


@pytest.mark.parametrize(
    ("error", "finding"), [(RateLimited("slow down"), "read.failed"), (AuthRequired("signed out"), "page.sign-in")]
)
async def test_a_refused_read_is_told_with_its_code(error: Any, finding: str) -> None:
    opened = browser()
    companion_of(opened).error = error
    report = await page.examine_read(opened)
    assert (ids(report), str(error.code) in report.findings[0].detail) == ([finding], True)


@pytest.mark.parametrize("rpc", ["rLM1Ne", "cFji9", "hizoJc", "tr032e"])
async def test_one_changed_answer_is_named_and_the_others_are_still_tried(rpc: str) -> None:
    opened = browser()
    await page.examine_read(opened)
    companion_of(opened).drifted = (rpc,)
    report = await page.examine_shapes(opened)
    assert ids(report) == ["shape.drift"]
    assert rpc in report.findings[0].detail
    assert "tr032e" in report.detail


async def test_a_changed_list_is_drift_and_not_an_empty_list() -> None:
    opened = browser()
    companion_of(opened).drifted = ("wXbhsf",)
    assert ids(await page.examine_read(opened)) == ["shape.drift"]


async def test_what_cannot_be_tried_is_said() -> None:
    report = await page.examine_shapes(browser())
    assert ids(report) == ["shape.untried"]
    assert "hizoJc" in report.findings[0].detail
