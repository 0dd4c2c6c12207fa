"""Run scenarios on headless chains: each in a session of its own, on a service that is back at its seed.

With several browsers the scenarios are dealt out as browsers become free; each browser has its own chain and emulator,
so no scenario sees another's faults.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import trio

from cdp.errors import CdpError
from harness.chain import Chain, open_chain
from harness.control import Control, ControlRefused
from harness.errors import ChainFailed
from harness.expectations import problems_of
from harness.home import forget_back_offs
from harness.junit import CaseResult
from harness.mcp_client import SERVE_COMMAND, McpClient, RpcError, ServerGone, open_client
from harness.scenario import Expectation, Scenario, Step
from harness.tabs import close_tabs, leave_site, reload_tab

START_TIMEOUT_S: Final = 30.0
EVENT_TIMEOUT_S: Final = 20.0

OnCase = Callable[[CaseResult], None]


class _StepFailed(Exception):
    """A step did not come to what was expected; each argument is a sentence."""


class _CannotRun(Exception):
    """A step could not be made: no verdict on the product. The message names the step and the reason."""


async def run_scenarios(
    scenarios: Sequence[Scenario], *, browsers: int = 1, on_case: OnCase | None = None
) -> list[CaseResult]:
    """Run them and return the results in the order of the file.

    Raises:
        ChainFailed: no browser came up.
    """
    results: dict[str, CaseResult] = {}
    waiting = list(reversed(scenarios))
    failures: list[ChainFailed] = []

    async def work() -> None:
        try:
            async with open_chain(notebooks="*") as chain:
                while waiting:
                    scenario = waiting.pop()
                    result = results[scenario.name] = await _run(scenario, chain)
                    if on_case is not None:
                        on_case(result)
        except ChainFailed as failure:
            failures.append(failure)  # the other browsers take over what is left

    async with trio.open_nursery() as nursery:
        for _ in range(min(browsers, len(scenarios))):
            nursery.start_soon(work)
    if waiting:
        raise failures[0]
    return [results[scenario.name] for scenario in scenarios]


async def _run(scenario: Scenario, chain: Chain) -> CaseResult:
    started = time.monotonic()
    problems: list[str] = []
    error = ""
    control = Control(chain.emulator.control_url, chain.emulator.control_token)
    try:
        # The emulator lives in this Trio run, so a blocking request to it must not hold the loop.
        await trio.to_thread.run_sync(control.reset)
        forget_back_offs(chain.env)
        async with open_client(SERVE_COMMAND, env=chain.env) as client:
            with _naming("start of `serve`", START_TIMEOUT_S):
                await client.initialize()
            await _steps(scenario, client, chain, control)
    except* _StepFailed as group:
        problems = [str(sentence) for failed in _leaves(group) for sentence in failed.args]
    except* _CannotRun as group:
        error = "; ".join(str(each) for each in _leaves(group))
    return CaseResult(scenario.name, time.monotonic() - started, problems, error)


async def _steps(scenario: Scenario, client: McpClient, chain: Chain, control: Control) -> None:
    if scenario.notebook is not None:
        select = {"notebook_id": scenario.notebook, "save_for_project": False}
        await _call(client, "select_notebook", select, Expectation(), "before step 1")
    for number, step in enumerate(scenario.step, 1):
        where = f"step {number} ({step.title})"
        if step.call is not None:
            await _call(client, step.call, step.arguments, step.expect, where)
        else:
            with _naming(where, EVENT_TIMEOUT_S):
                await _event(step, chain, control)


async def _event(step: Step, chain: Chain, control: Control) -> None:
    if step.fault is not None:
        await trio.to_thread.run_sync(control.add_fault, step.fault)
    elif step.state is not None:
        await trio.to_thread.run_sync(control.change_state, step.state)
    elif step.browser is not None:
        await BROWSER[step.browser](chain)
    else:
        await trio.to_thread.run_sync(control.clear_faults)


async def _call(client: McpClient, tool: str, arguments: dict[str, Any], expect: Expectation, where: str) -> None:
    """Call, and the same again while it says that it is running, as the tools ask their callers to."""
    envelope: dict[str, Any] = {}
    with _naming(where), trio.move_on_after(expect.within_s) as patience:
        while True:
            outcome = await client.call_tool(tool, arguments)
            envelope = outcome["structuredContent"]
            if not envelope["ok"] or envelope["result"].get("status") != "running":
                break
            await trio.sleep(envelope["result"].get("retry_after_s", 1))
    if patience.cancelled_caught:
        raise _StepFailed(f"{where}: no answer within {expect.within_s:g} s")
    problems = problems_of(envelope, expect)
    if problems:
        raise _StepFailed(*(f"{where}: {problem}" for problem in problems))


@contextmanager
def _naming(where: str, timeout_s: float = math.inf) -> Generator[None]:
    """Turn whatever keeps a step from being made into `_CannotRun`, which says where it happened."""
    try:
        with trio.fail_after(timeout_s):
            yield
    except trio.TooSlowError:
        raise _CannotRun(f"{where}: not done within {timeout_s:g} s") from None
    except (CdpError, ControlRefused, LookupError, RpcError, ServerGone) as error:
        raise _CannotRun(f"{where}: {type(error).__name__}: {error}") from error


def _leaves(group: BaseExceptionGroup[Exception]) -> list[BaseException]:
    found: list[BaseException] = []
    for each in group.exceptions:
        found += _leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found


# Invariant: the keys are `scenario.BROWSER_EVENTS` (a test compares them).
BROWSER: Final[dict[str, Callable[[Chain], Awaitable[None]]]] = {
    "close_tab": lambda chain: close_tabs(chain.connection),
    "leave_site": lambda chain: leave_site(chain.connection),
    "reload_extension": lambda chain: chain.reload_extension(),
    "reload_tab": lambda chain: reload_tab(chain.connection),
    "stop_worker": lambda chain: chain.stop_worker(),
}
