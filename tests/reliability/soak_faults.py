"""What can happen to a browser, its page, our programs and the service while agents work: the faults of the soak.

Each fault is a function that makes it happen and returns once its cause is gone, so that the time from then on is ours.
None holds a session on the extension's worker, which would keep it alive.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import trio

from cdp.errors import CallFailed
from cdp.targets import attached, get_targets
from harness.browser import is_notebook_tab
from harness.chain import Chain
from harness.control import Control
from harness.home import forget_back_offs
from harness.tabs import close_tabs, leave_site, reload_tab
from tests.reliability.cells import page_renderers
from tests.reliability.processes import host_pids

SIGNED_IN: Final = ("ada@example.com", "grace@example.com")
STOPPED_S: Final = 3.0
"""How long a sleep, a frozen tab or a signed-out service lasts. A soak is about what comes after."""

Fault = Callable[[Chain, Control], Awaitable[None]]


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


FAULTS: Final[dict[str, Fault]] = {
    "worker stopped": stop_worker,
    "extension reloaded": reload_extension,
    "native host killed": kill_host,
    "tab closed": close_tab,
    "tab reloaded": reload_page,
    "tab led to another site": navigate_away,
    "renderer killed": kill_renderer,
    "tab frozen": freeze_tab,
    "machine asleep": sleep_machine,
    "signed out and in again": sign_out,
    "service answers 429": too_many_requests,
    "service answers 500": server_errors,
    "answer stream cut": cut_answers,
}


async def _change(control: Control, changes: dict[str, Any]) -> None:
    await trio.to_thread.run_sync(control.change_state, changes)


async def _service_fault(control: Control, fault: dict[str, Any]) -> None:
    await trio.to_thread.run_sync(partial(control.add_fault, fault))


async def clear(control: Control) -> None:
    """Take back what faults of the service are left."""
    await trio.to_thread.run_sync(control.clear_faults)
