"""What is connected right now: gathered here as plain data, shown by `status_command`.

Looks at each hop the way a broker would, and opens nothing in the browser: the worker answers `status` from memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

import trio
from attrs import asdict, define, field

from broker.allowlist import load_allowlist
from broker.companion_choice import is_same_account
from broker.config import load_config
from broker.errors import GatewayError
from broker.journal import open_store
from broker.journal_faults import JournalBusy
from broker.journal_states import State
from broker.link import ClientName, Link, open_link
from broker.process_lock import broker_pids
from broker.request_budget import read_spending
from broker.trace import continue_or_begin_trace
from cdp.finder import BROWSER_VARIABLE
from cdp.launcher import BROWSER_ARGS_VARIABLE
from native_host import paths
from native_host.build import BUILD
from native_host.resource_profile import as_ranges, limits_of, read_profile
from onboarding.keeper_client import maybe_keeper_status

ASK_TIMEOUT_S: Final = 5.0
LOUD_VARIABLES: Final = (BROWSER_VARIABLE, BROWSER_ARGS_VARIABLE)
"""They change which browser is started and how: a person must never overlook that one is set."""


@define
class CompanionReport:
    """One native host and what is behind it. `problem` is None when a broker can use it."""

    socket: str
    host_build: str | None = None
    host_pid: int | None = None
    extension_build: str | None = None
    extension_id: str | None = None
    profile: str | None = None
    account: str | None = None
    notebooks: object = None
    tab: object = None
    open_calls: object = None
    problem: str | None = None
    next_step: str | None = None


@define
class RequestsReport:
    """What all brokers together sent for the account. `per_minute` of 0 is without a limit."""

    last_minute: int
    per_minute: int
    blocked_s: float
    """How long the service wants to be left alone yet."""


@define
class StatusReport:
    """The JSON document of `status --json`."""

    ok: bool
    build: str
    home: str
    account: str | None
    allowlist: object
    unknown_writes: int = 0
    """Writes of which nobody knows whether they took effect; they wait for a repeat or for the person."""
    requests: RequestsReport | None = None
    resources: dict[str, object] = field(factory=dict[str, object])
    """``profile``, as the configuration has it, and ``processes``: what each of ours really runs under."""
    problems: list[str] = field(factory=list[str])
    next_steps: list[str] = field(factory=list[str])
    environment: dict[str, str] = field(factory=dict[str, str])
    companions: list[CompanionReport] = field(factory=list[CompanionReport])

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


async def gather_status(environ: Mapping[str, str] = os.environ) -> StatusReport:
    """Look at configuration and companions; never raises for what it finds wrong, it reports it."""
    home = paths.home_folder(environ)
    report = StatusReport(ok=False, build=BUILD, home=str(home), account=None, allowlist=None)
    report.environment = {name: environ[name] for name in LOUD_VARIABLES if environ.get(name)}
    try:
        config = load_config(home)
        report.account = config.account
        spending = read_spending(home, config.account)
        blocked_s = round(spending.blocked_s(time.monotonic()), 1)
        report.requests = RequestsReport(len(spending.sent_s), config.requests_per_minute, blocked_s)
        report.allowlist = load_allowlist(home).for_account(report.account).as_json()
    except GatewayError as error:
        _add_problem(report, error)
    try:
        report.unknown_writes = await trio.to_thread.run_sync(_count_unknown_writes, home)
    except GatewayError as error:
        _add_problem(report, error)
    except JournalBusy:
        pass  # a session is writing just now; the number is for people, and the next look has it
    if report.unknown_writes:
        report.next_steps.append("See what stayed unknown: `notebook-gateway journal list --state unknown`.")
    report.resources = await _resources(home)
    for socket_path in paths.companion_sockets(home):
        report.companions.append(await _ask_companion(socket_path, report.account))
    if not report.companions:
        report.problems.append("No browser with the extension is connected.")
        report.next_steps.append(
            "Start the browser that holds the extension; `notebook-gateway demo` shows a working chain."
        )
    for companion in report.companions:
        if companion.problem is not None:
            report.problems.append(companion.problem)
            if companion.next_step:
                report.next_steps.append(companion.next_step)
    usable = any(companion.problem is None for companion in report.companions)
    report.ok = report.account is not None and usable
    return report


async def _resources(home: Path) -> dict[str, object]:
    profile = read_profile(home)
    if not profile:
        return {}
    pids = {f"broker {pid}": pid for pid in broker_pids(paths.run_folder(home))}
    keeper = await maybe_keeper_status(home)
    if keeper is not None:
        pids |= {"keeper": keeper.pid} | ({"browser": keeper.browser_pid} if keeper.browser_pid else {})
    cpus = None if profile.cpus is None else as_ranges(profile.cpus)
    found = {name: limits_of(pid) for name, pid in pids.items()}
    return {
        "profile": {"cpus": cpus, "memory_mb": profile.memory_mb, "nice": profile.nice},
        "processes": {name: limits for name, limits in found.items() if limits is not None},
    }


def _count_unknown_writes(home: Path) -> int:
    """Return how many rows of the journal are unknown; looking makes no journal where there is none."""
    if not paths.journal_file(home).exists():
        return 0
    with closing(open_store(home, owner="")) as store:
        return len(store.records(State.UNKNOWN))


def _add_problem(report: StatusReport, error: GatewayError) -> None:
    report.problems.append(error.message)
    if error.hint:
        report.next_steps.append(error.hint)


async def _ask_companion(socket_path: Path, account: str | None) -> CompanionReport:
    """Greet one companion and let its worker tell about itself."""
    found = CompanionReport(socket=str(socket_path))
    try:
        with trio.fail_after(ASK_TIMEOUT_S):
            async with open_link(socket_path, client=ClientName("notebook-gateway status", BUILD)) as link:
                await _describe(found, link, account)
    except trio.TooSlowError:
        found.problem = f"The native host at {socket_path.name} does not answer."
        found.next_step = "Close that browser and start it again."
    except GatewayError as error:
        found.problem = error.message
        found.next_step = error.hint or None
    return found


async def _describe(found: CompanionReport, link: Link, account: str | None) -> None:
    welcome = link.welcome
    assert welcome is not None  # open_link returns after the greeting
    found.host_build = welcome.host_build
    found.host_pid = welcome.host_pid
    found.account = welcome.account
    if welcome.extension is None:
        found.problem = "The native host runs, but the extension has not said it is ready."
        found.next_step = "Reload the extension on chrome://extensions."
        return
    found.extension_build = welcome.extension.build
    found.extension_id = welcome.extension.id
    found.profile = welcome.extension.profile
    if welcome.account is None:
        found.problem = "The extension has no account configured."
        found.next_step = "Configure the account in the extension."
        return
    if account is not None and not is_same_account(welcome.account, account):
        found.problem = "This browser's extension is configured for another account."
        found.next_step = "Use the browser profile of the configured account, or change `account` in config.toml."
        return
    result = await link.call(
        "status",
        {},
        notebook=None,
        account=welcome.account,
        deadline_s=trio.current_time() + ASK_TIMEOUT_S,
        traceparent=continue_or_begin_trace(None),
    )
    value = result.value
    if isinstance(value, dict):
        value = cast("dict[str, object]", value)
        found.notebooks = value.get("notebooks")
        found.tab = value.get("tab")
        found.open_calls = value.get("open_calls")
