"""Agents at work while everything breaks at random: `python -m tests.reliability.soak --minutes 30`.

Three agents read, ask and write through brokers of their own, one of which is killed and started again now and then.
One fault after the other happens to browser, page, host or service, in an order that `--seed` fixes. After each a
further broker asks until it is served, and that time is the recovery. At the end it is counted: calls and errors by
code, recoveries, what that broker holds more than at the start, what is left when all is closed, and whether each write
is in the notebook once.

Clean means: every error is one that a fault just before explains, every call ended in time, every recovery was within
`RECOVERY_S`, every write is there exactly once or was said to be unknown or rejected, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from functools import partial
from typing import Any, Final

import trio

from cdp.processes import MARK_VARIABLE, members
from harness.chain import Chain, open_chain
from harness.control import Control
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from harness.mcp_client import SERVE_COMMAND, McpClient, RpcError, ServerGone, open_client
from tests.e2e.raw_broker import open_raw_broker
from tests.e2e.tool_calls import select
from tests.reliability.processes import size_of
from tests.reliability.soak_faults import FAULTS, clear
from tests.reliability.soak_report import Report, table
from tests.reliability.verdict import say

AGENTS: Final = 3
CALL_TIMEOUT_S: Final = 60.0
START_TIMEOUT_S: Final = 30.0
RECOVERY_S: Final = 5.0
"""With a notebook tab or the keeper (ADR-014)."""
LONG_RECOVERY_S: Final = 35.0
"""Without a notebook tab only Chrome's own alarm wakes the worker."""
BETWEEN_FAULTS_S: Final = (3.0, 8.0)
BROKER_LIVES_S: Final = (20.0, 60.0)
THINKING_S: Final = (0.0, 0.4)


class Agent:
    """One agent: a broker, restarted whenever it is gone, and calls one after the other."""

    def __init__(self, name: str, env: dict[str, str], dice: random.Random, report: Report) -> None:
        self._name = name
        self._env = env
        self._dice = dice
        self._report = report
        self._count = 0
        self._last_error: dict[str, Any] = {"code": ""}

    async def work(self, until_s: float, *, dies: bool) -> None:
        """Work until then. `dies`: the broker is killed now and then, as an agent's machine does."""
        while trio.current_time() < until_s:
            life_s = self._dice.uniform(*BROKER_LIVES_S) if dies else math.inf
            async with open_client(SERVE_COMMAND, env=self._env) as client:
                with trio.move_on_after(life_s) as life:
                    try:
                        await self._session(client, until_s)
                    except ServerGone:
                        self._report.troubles["a broker ended by itself"] += 1
                if life.cancelled_caught:
                    os.kill(client.process.pid, signal.SIGKILL)
                    self._report.killed_brokers += 1

    async def _session(self, client: McpClient, until_s: float) -> None:
        with trio.fail_after(START_TIMEOUT_S):
            await client.initialize()
        while trio.current_time() < until_s:
            await trio.sleep(self._dice.uniform(*THINKING_S))
            if await self._call(client, "select_notebook", {"notebook_id": LIGHTHOUSE_ID, "save_for_project": False}):
                break
        while trio.current_time() < until_s:
            await self._one_of_many(client, until_s)

    async def _one_of_many(self, client: McpClient, until_s: float) -> None:
        await trio.sleep(self._dice.uniform(*THINKING_S))
        self._count += 1
        key = f"{self._name}-{self._count}"
        tool = self._dice.choices(("list_sources", "list_notes", "query_notebook", "create_note"), (4, 3, 1, 2))[0]
        if tool == "query_notebook":
            await self._call(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": key})
        elif tool == "create_note":
            await self._write(client, key, until_s)
        else:
            await self._call(client, tool, {})

    async def _write(self, client: McpClient, key: str, until_s: float) -> None:
        """Write one note and repeat the call with its key until it is settled, as the tool asks agents to."""
        self._report.writes[key] = "begun"
        arguments = {"idempotency_key": key, "title": key, "content": "soak"}
        while trio.current_time() < until_s:
            await trio.sleep(self._dice.uniform(*THINKING_S))
            envelope = await self._call(client, "create_note", arguments)
            if envelope is not None and envelope["result"]["status"] == "running":
                continue
            settled = "done" if envelope is not None else self._settled_by_error()
            if settled:
                self._report.writes[key] = settled
                return

    def _settled_by_error(self) -> str:
        """Return what the last error says of a write; nothing when the same call is to be made again."""
        if self._last_error["code"] == "MUTATION_UNKNOWN":
            return "unknown"
        return str(self._last_error.get("details", {}).get("mutation", ""))

    async def _call(self, client: McpClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Call once; returns the envelope of a success. Whatever no client should ever see is trouble."""
        self._last_error = {"code": ""}
        started = time.monotonic()
        try:
            with trio.fail_after(CALL_TIMEOUT_S):
                outcome = await client.call_tool(tool, arguments)
        except trio.TooSlowError:
            self._report.troubles[f"{tool}: no answer after {CALL_TIMEOUT_S:g} s"] += 1
            return None
        except RpcError as error:
            self._report.troubles[f"{tool}: protocol error {error}"] += 1
            return None
        self._report.slowest_call_s = max(self._report.slowest_call_s, time.monotonic() - started)
        self._report.calls[tool] += 1
        envelope: dict[str, Any] = outcome["structuredContent"]
        if envelope["ok"]:
            return envelope
        self._last_error = envelope["error"]
        self._report.add_error(tool, str(self._last_error["code"]), json.dumps(self._last_error)[:300])
        return None


class Watcher:
    """A broker that lives all the time: it measures recoveries, and what it holds itself."""

    def __init__(self, client: McpClient, report: Report) -> None:
        self._client = client
        self._report = report
        self._started = time.monotonic()

    async def recover(self, fault: str) -> None:
        """Ask until served; note how long that took."""
        started = time.monotonic()
        limit_s = LONG_RECOVERY_S if FAULTS[fault].takes_tab else RECOVERY_S
        code = ""
        with trio.move_on_after(LONG_RECOVERY_S + RECOVERY_S):
            while True:
                outcome = await self._client.call_tool("list_sources", {})
                envelope = outcome["structuredContent"]
                if envelope["ok"]:
                    break
                code = envelope["error"]["code"]
                await trio.sleep(0.1)
        took_s = time.monotonic() - started
        self._report.recoveries_s.setdefault(fault, []).append(took_s)
        if took_s > limit_s:
            self._report.troubles[f"{fault}: served again after {took_s:.1f} s, last error {code or 'none'}"] += 1

    def measure(self) -> None:
        self._report.sizes.append((time.monotonic() - self._started, size_of(self._client.process.pid)))


async def soak(seconds: float, seed: int) -> Report:
    """Run it all."""
    report, dice, mark = Report(AGENTS), random.Random(seed), secrets.token_hex(8)
    started = time.monotonic()
    async with open_chain() as chain:
        control = Control(chain.emulator.control_url, chain.emulator.control_token)
        env = {**chain.env, MARK_VARIABLE: mark}
        async with open_client(SERVE_COMMAND, env=env) as client:
            with trio.fail_after(START_TIMEOUT_S):
                await client.initialize()
                await select(client, LIGHTHOUSE_ID)
            watcher = Watcher(client, report)
            until_s = trio.current_time() + seconds
            async with trio.open_nursery() as nursery:
                for number in range(AGENTS):
                    agent = Agent(f"agent {number}", env, random.Random(seed + number), report)
                    nursery.start_soon(partial(agent.work, until_s, dies=number == 0))
                await _break_things(chain, control, watcher, dice, until_s, report)
            watcher.measure()
            await _check_nothing_hangs(chain, report)
            await _check_writes(control, report)
    left = members(-1, mark)
    if left:
        report.troubles[f"{len(left)} process(es) of ours outlived the soak"] += 1
    report.seconds = time.monotonic() - started
    report.check_growth()
    return report


async def _break_things(
    chain: Chain, control: Control, watcher: Watcher, dice: random.Random, until_s: float, report: Report
) -> None:
    order: list[str] = []
    while trio.current_time() < until_s - RECOVERY_S:
        await trio.sleep(dice.uniform(*BETWEEN_FAULTS_S))
        watcher.measure()
        if not order:  # each fault once, in a random order, and then again
            order = dice.sample(list(FAULTS), len(FAULTS))
        fault = order.pop()
        print(fault, file=sys.stderr, flush=True)
        report.recent.append(fault)
        try:
            with trio.fail_after(CALL_TIMEOUT_S):
                await FAULTS[fault].happen(chain, control)
        except trio.TooSlowError:
            report.troubles[f"{fault}: could not be made to happen"] += 1
            continue
        await watcher.recover(fault)
        await clear(control)


async def _check_nothing_hangs(chain: Chain, report: Report) -> None:
    """After the agents are gone, the worker has no call open but the one that asks."""
    with trio.fail_after(LONG_RECOVERY_S):
        socket = await chain.wait_for_companion()
    async with open_raw_broker(str(socket)) as broker:
        with trio.move_on_after(10) as patience:
            while (open_calls := (await broker.call("status", {}))["value"]["open_calls"]) > 1:
                pass  # each turn is a round trip to the worker
        if patience.cancelled_caught:
            report.troubles[f"{open_calls} calls are open in the worker though nobody waits for them"] += 1


async def _check_writes(control: Control, report: Report) -> None:
    state = await trio.to_thread.run_sync(control.state)
    (notebook,) = (each for each in state["notebooks"] if each["id"] == LIGHTHOUSE_ID)
    report.check_writes(Counter(note["title"] for note in notebook["notes"] if not note["deleted"]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None, help="the order of the faults; printed when not given")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(1_000_000)
    print(f"seed {seed}", flush=True)
    report = trio.run(soak, options.minutes * 60, seed)
    return say(table(report), report.troubles)


if __name__ == "__main__":
    sys.exit(main())
