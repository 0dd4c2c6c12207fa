"""What a CDP connection promises, held against real Chromium over both transports: one set, run twice."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp import Connection, Launched, Session, find_browser, launch, open_connection, run_connection
from cdp.domains import runtime, target
from cdp.errors import CallFailed, ConnectionLost, EvaluationFailed, EventsLost, SessionDetached
from cdp.targets import attached, evaluate, get_targets

pytestmark = pytest.mark.browser

FLAGS = ("--headless=new", "--disable-gpu", "--no-first-run", *(("--no-sandbox",) if os.geteuid() == 0 else ()))
WITHIN_S = 30.0
MEBIBYTE = 1024 * 1024
HALF_SENT_CHARACTERS = 24 * MEBIBYTE
"""More than a pipe or a socket takes at once, so that a cancel falls into the middle of the command."""


class Chrome:
    """A browser, the connection to it, and a session on a page."""

    def __init__(self, launched: Launched, connection: Connection, page: Session) -> None:
        self.launched = launched
        self.connection = connection
        self.page = page

    async def evaluate(self, expression: str) -> object:
        return await evaluate(self.page, expression)


@pytest.fixture(params=["pipe", "WebSocket"])
async def chrome(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Chrome, None]:
    is_pipe = request.param == "pipe"
    async with launch(
        find_browser(),
        user_data_dir=tmp_path / "profile",
        args=FLAGS,
        debug_port=None if is_pipe else 0,
        pipe=is_pipe,
        shutdown_timeout_s=0.5,
    ) as launched:
        opened = open_connection(launched.cdp_url) if launched.pipe is None else run_connection(launched.pipe)
        async with opened as connection:
            with trio.fail_after(WITHIN_S):
                # Not the first page, which may still be on its way to where the browser starts.
                made = await connection.execute(target.CreateTarget("about:blank"))
                async with attached(connection, made.targetId) as session:
                    yield Chrome(launched, connection, session)


async def test_commands_answer_typed_and_raw_on_browser_and_session(chrome: Chrome) -> None:
    version = await chrome.connection.call("Browser.getVersion")
    assert str(version["product"]).split("/")[0] in ("Chrome", "HeadlessChrome")
    result = await chrome.page.execute(runtime.Evaluate("6 * 7", returnByValue=True))
    assert result.result.value == 42
    raw = await chrome.page.call("Runtime.evaluate", {"expression": "6 * 7", "returnByValue": True})
    assert raw["result"] == {"type": "number", "value": 42, "description": "42"}


async def test_hundreds_in_flight_each_get_their_own_answer(chrome: Chrome) -> None:
    answers: dict[int, object] = {}

    async def ask(number: int) -> None:
        answers[number] = await chrome.evaluate(f"{number} * 2")

    async with trio.open_nursery() as nursery:
        for number in range(300):
            nursery.start_soon(ask, number)
    assert answers == {number: number * 2 for number in range(300)}
    assert chrome.connection.pending_count == 0


async def test_a_refused_command_says_which_and_why_and_the_connection_goes_on(chrome: Chrome) -> None:
    with pytest.raises(CallFailed, match=r"Browser\.noSuchThing"):
        await chrome.connection.call("Browser.noSuchThing")
    with pytest.raises(CallFailed, match=r"Runtime\.evaluate"):
        await chrome.page.call("Runtime.evaluate", {"expression": 5})
    with pytest.raises(CallFailed, match="ession"):
        await chrome.connection.call("Runtime.evaluate", {"expression": "1"}, "NOSUCHSESSION")
    with pytest.raises(EvaluationFailed, match="deliberate"):
        await chrome.evaluate("Promise.reject(new Error('deliberate'))")
    assert await chrome.evaluate("1 + 1") == 2


@pytest.mark.parametrize("text", ["ä €", "\U0001f600 and \u0000 and \u2028", "\\ud83d", "x" * 70_000])
async def test_text_of_every_kind_comes_back_as_it_was_sent(chrome: Chrome, text: str) -> None:
    answer = await chrome.page.call(
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": "function (text) { return text; }",
            "arguments": [{"value": text}],
            "executionContextId": await context_of(chrome.page),
            "returnByValue": True,
        },
    )
    result: Any = answer["result"]
    assert result["value"] == text


async def context_of(page: Session) -> object:
    with page.events("Runtime.executionContextCreated") as created:
        await page.execute(runtime.Enable())
        context: Any = (await anext(created)).params["context"]
    return context["id"]


async def test_c097_an_answer_of_100_mb_arrives_whole(chrome: Chrome) -> None:
    size = 100 * 1000 * 1000
    answer = await chrome.evaluate(f"'x'.repeat({size})")
    assert isinstance(answer, str)
    assert len(answer) == size
    assert answer.count("x") == size


async def test_a_large_command_is_sent_whole_beside_small_ones(chrome: Chrome) -> None:
    text = "y" * (8 * MEBIBYTE)
    lengths: list[object] = []

    async def large() -> None:
        lengths.append(await chrome.evaluate(f"'{text}'.length"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(large)
        for number in range(20):
            assert await chrome.evaluate(str(number)) == number
    assert lengths == [len(text)]


async def add_binding(page: Session) -> None:
    """Give the page a function whose calls become events."""
    await page.execute(runtime.Enable())
    await page.execute(runtime.AddBinding("tell"))


async def test_events_of_a_session_come_in_order_and_without_a_gap(chrome: Chrome) -> None:
    await add_binding(chrome.page)
    with chrome.page.events("Runtime.bindingCalled", capacity=20_000) as told:
        await chrome.evaluate("for (let i = 0; i < 10000; i++) tell(String(i))")
        assert [(await anext(told)).params["payload"] for _ in range(10_000)] == [str(i) for i in range(10_000)]


async def test_a_slow_reader_is_cut_off_by_the_stated_rule_and_calls_go_on(chrome: Chrome) -> None:
    await add_binding(chrome.page)
    with chrome.page.events("Runtime.bindingCalled", capacity=10) as told:
        assert await chrome.evaluate("for (let i = 0; i < 100; i++) tell(String(i)); 'done'") == "done"
        kept = [(await anext(told)).params["payload"] for _ in range(10)]
        with pytest.raises(EventsLost, match="10 events behind"):
            await anext(told)
    assert kept == [str(number) for number in range(10)]


async def test_a_cancelled_call_leaves_nothing_and_its_late_answer_harms_nobody(chrome: Chrome) -> None:
    with trio.move_on_after(0.05) as scope:
        await chrome.evaluate("new Promise((resolve) => setTimeout(() => resolve('late'), 200))")
    assert scope.cancelled_caught
    assert chrome.connection.pending_count == 0
    assert await chrome.evaluate("new Promise((resolve) => setTimeout(() => resolve('next'), 300))") == "next"


async def test_a_call_cancelled_while_its_command_is_half_sent_does_not_break_the_stream(chrome: Chrome) -> None:
    with trio.move_on_after(0.001):
        await chrome.evaluate(f"'{'z' * HALF_SENT_CHARACTERS}'.length")
    assert chrome.connection.pending_count == 0
    assert await chrome.evaluate("'still here'") == "still here"


async def test_what_waits_on_a_target_that_closes_is_told(chrome: Chrome) -> None:
    made = await chrome.connection.execute(target.CreateTarget("about:blank"))
    reasons: list[str] = []

    async def wait_for_ever(session: Session, waiting: trio.Event) -> None:
        waiting.set()
        try:
            await session.call("Runtime.evaluate", {"expression": "new Promise(() => {})", "awaitPromise": True})
        except SessionDetached as error:
            reasons.append(str(error))

    async with attached(chrome.connection, made.targetId) as session, trio.open_nursery() as nursery:
        waiting = trio.Event()
        nursery.start_soon(wait_for_ever, session, waiting)
        await waiting.wait()
        await session.call("Runtime.evaluate", {"expression": "1"})  # behind the other on the same session
        await chrome.connection.execute(target.CloseTarget(made.targetId))
    assert len(reasons) == 1
    assert made.targetId not in [found.id for found in await get_targets(chrome.connection)]


async def test_c098_when_the_browser_dies_every_call_and_stream_ends_with_the_reason(chrome: Chrome) -> None:
    reasons: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await chrome.evaluate("new Promise(() => {})")
        except ConnectionLost as error:
            reasons.append(str(error))

    with chrome.page.events("Page.loadEventFired") as loads:
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(wait_for_ever)
            await chrome.evaluate("1")
            os.kill(chrome.launched.pid, signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            await anext(loads)
    assert len(reasons) == 5
    assert chrome.connection.pending_count == 0
    with pytest.raises(ConnectionLost):
        await chrome.connection.call("Browser.getVersion")
