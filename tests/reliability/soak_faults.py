"""What can happen to a browser, its page, our programs and the service while agents work: the faults of the soak.

Each fault makes it happen and returns once its cause is gone, so that the time from then on is ours, and names the
codes with which a call may end because of it. None holds a session on the extension's worker, as that keeps it alive.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import trio
from attrs import frozen

from cdp.errors import CallFailed
from cdp.targets import attached, get_targets
from harness.browser import is_notebook_tab
from harness.chain import Chain
from harness.control import Control
from harness.home import forget_back_offs
from harness.tabs import close_tabs, leave_site, reload_tab
from tests.reliability.processes import host_pids, page_renderers

SIGNED_IN: Final = ("ada@example.com", "grace@example.com")
STOPPED_S: Final = 3.0
"""How long a sleep, a frozen tab or a signed-out service lasts. A soak is about what comes after."""


@frozen
class Fault:
    """`happen` returns when the cause is gone. `codes`: how calls may end because of it."""

    happen: Callable[[Chain, Control], Awaitable[None]]
    codes: frozenset[str]
    takes_tab: bool = False
    """Afterwards there is no notebook tab, and only Chrome's own alarm is sure to wake the worker."""


async def stop_worker(chain: Chain, control: Control) -> None:
    await chain.stop_worker()


async def reload_extension(chain: Chain, control: Control) -> None:
    await chain.reload_extension()


async def kill_host(chain: Chain, control: Control) -> None:
    for pid in host_pids(chain.home):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def close_tab(chain: Chain, control: Control) -> None:
    await close_tabs(chain.connection)


async def reload_page(chain: Chain, control: Control) -> None:
    with suppress(LookupError):  # no tab at the moment
        await reload_tab(chain.connection)


async def navigate_away(chain: Chain, control: Control) -> None:
    with suppress(LookupError):
        await leave_site(chain.connection)


async def kill_renderer(chain: Chain, control: Control) -> None:
    for pid in page_renderers(chain.launched.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def freeze_tab(chain: Chain, control: Control) -> None:
    for target in await get_targets(chain.connection):
        if is_notebook_tab(target):
            with suppress(CallFailed):
                async with attached(chain.connection, target.id) as session:
                    await session.call("Page.enable")
                    await session.call("Page.setWebLifecycleState", {"state": "frozen"})
                    await trio.sleep(STOPPED_S)
                    await session.call("Page.setWebLifecycleState", {"state": "active"})
            return


async def sleep_machine(chain: Chain, control: Control) -> None:
    """Stop browser and host as a laptop's lid does; their clocks jump when they go on."""
    pids = [chain.launched.pid, *page_renderers(chain.launched.pid), *host_pids(chain.home)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        await trio.sleep(STOPPED_S)
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


async def sign_out(chain: Chain, control: Control) -> None:
    await _change(control, {"signed_in": []})
    try:
        await trio.sleep(STOPPED_S)
    finally:
        with trio.CancelScope(shield=True):
            await _change(control, {"signed_in": list(SIGNED_IN)})


async def too_many_requests(chain: Chain, control: Control) -> None:
    await _service_fault(control, {"rpc": "rLM1Ne", "fault": "http_429", "times": 1, "retry_after_s": 1})
    await trio.sleep(1.5)
    forget_back_offs(chain.env)


async def server_errors(chain: Chain, control: Control) -> None:
    await _service_fault(control, {"rpc": "rLM1Ne", "fault": "http_error", "http_status": 500, "times": 3})


async def cut_answers(chain: Chain, control: Control) -> None:
    await _service_fault(control, {"rpc": "stream", "fault": "disconnect", "bytes": 2000, "times": 2})


# What is under way when the road breaks: a stream that had begun, a write whose request had left.
UNDER_WAY: Final = frozenset({"STREAM_SEVERED", "MUTATION_UNKNOWN"})
NO_WORKER: Final = UNDER_WAY | {"COMPANION_OFFLINE"}
NO_PAGE: Final = UNDER_WAY | {"TAB_DISCARDED"}

FAULTS: Final[dict[str, Fault]] = {
    "worker stopped": Fault(stop_worker, NO_WORKER),
    "extension reloaded": Fault(reload_extension, NO_WORKER | NO_PAGE),
    "native host killed": Fault(kill_host, NO_WORKER),
    "tab closed": Fault(close_tab, NO_PAGE, takes_tab=True),
    "tab reloaded": Fault(reload_page, NO_PAGE),
    "tab led to another site": Fault(navigate_away, NO_PAGE, takes_tab=True),
    "renderer killed": Fault(kill_renderer, NO_PAGE),
    "tab frozen": Fault(freeze_tab, NO_PAGE),
    "machine asleep": Fault(sleep_machine, NO_WORKER | NO_PAGE),
    "signed out and in again": Fault(sign_out, NO_PAGE | {"AUTH_REQUIRED"}),
    "service answers 429": Fault(too_many_requests, frozenset({"RATE_LIMITED"})),
    "service answers 500": Fault(server_errors, frozenset({"UPSTREAM_REJECTED"})),
    "answer stream cut": Fault(cut_answers, frozenset({"STREAM_SEVERED"})),
}


async def _change(control: Control, changes: dict[str, Any]) -> None:
    await trio.to_thread.run_sync(control.change_state, changes)


async def _service_fault(control: Control, fault: dict[str, Any]) -> None:
    await trio.to_thread.run_sync(partial(control.add_fault, fault))


async def clear(control: Control) -> None:
    """Take back what faults of the service are left."""
    await trio.to_thread.run_sync(control.clear_faults)
