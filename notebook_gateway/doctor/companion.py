"""The hops between the native host's socket and the extension's settings, seen as a broker sees them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from broker.companion_choice import is_same_account
from broker.errors import GatewayError
from broker.link import ClientName, open_link
from broker.relay_frames import Welcome
from native_host.build import BUILD
from native_host.paths import companion_pid, companion_sockets
from onboarding.doctor.findings import Hop
from onboarding.doctor.report import Finding, HopReport

CLIENT: Final = ClientName("notebook-gateway doctor", BUILD)
GREET_WITHIN_S: Final = 5.0
REPORT_WITHIN_S: Final = 1.0
"""A host whose worker has not reported yet gets this long, as in `broker/companion_search.py`."""


@frozen
class Greeted:
    """One socket and who answered there, if somebody did; else why not."""

    path: Path
    welcome: Welcome | None
    problem: str = ""

    @property
    def is_left_over(self) -> bool:
        """Whether the process that the socket's name tells has ended."""
        pid = companion_pid(self.path.name)
        return self.welcome is None and pid is not None and not Path(f"/proc/{pid}").exists()


async def greet_all(home: Path) -> list[Greeted]:
    """Greet every companion of this home folder, newest first."""
    return [await _greet(path) for path in companion_sockets(home)]


async def _greet(path: Path) -> Greeted:
    try:
        with trio.fail_after(GREET_WITHIN_S):
            async with open_link(path, client=CLIENT) as link:
                with trio.move_on_after(REPORT_WITHIN_S):
                    while link.down is None and (link.welcome is None or link.welcome.extension is None):
                        await link.wait_changed()
                return Greeted(path, link.welcome)
    except trio.TooSlowError:
        return Greeted(path, None, f"{path.name} does not answer")
    except GatewayError as error:
        return Greeted(path, None, error.message)


def examine_sockets(greeted: Sequence[Greeted]) -> HopReport:
    """Tell hosts that answer from what is left of those that have ended."""
    findings: list[Finding] = []
    for each in greeted:
        if each.is_left_over:
            findings.append(Finding("socket.stale", str(each.path), str(each.path)))
        elif each.welcome is None:
            findings.append(Finding("socket.silent", each.problem))
    answering = [each for each in greeted if each.welcome is not None]
    if not answering and not any(finding.id == "socket.silent" for finding in findings):
        findings.append(Finding("socket.none", f"{len(greeted)} sockets, none of a host that lives"))
    return HopReport(Hop.SOCKET, ", ".join(each.path.name for each in answering) or "none", tuple(findings))


def examine_port(greeted: Sequence[Greeted]) -> HopReport:
    """See whether the extension has reported over its native port, and whether the host is of our version."""
    welcomes = [each.welcome for each in greeted if each.welcome is not None]
    findings = [
        Finding("port.skew", f"host {welcome.host_pid} is of build {welcome.host_build}, this command of {BUILD}")
        for welcome in welcomes
        if welcome.host_build != BUILD
    ]
    connected = [welcome for welcome in welcomes if welcome.extension is not None]
    if not connected:
        findings.append(Finding("port.not-connected", f"{len(welcomes)} native hosts, none with an extension"))
    detail = ", ".join(f"host {welcome.host_pid} of build {welcome.host_build}" for welcome in connected)
    return HopReport(Hop.PORT, detail or "not connected", tuple(findings))


def examine_extension(greeted: Sequence[Greeted], account: str | None, damage: str | None) -> HopReport:
    """Judge the extension that serves `account`: its version, and its settings."""
    findings: list[Finding] = []
    if damage is not None:
        findings.append(Finding("extension.damaged", damage))
    welcomes = [each.welcome for each in greeted if each.welcome is not None and each.welcome.extension is not None]
    ours = [welcome for welcome in welcomes if _is_of(welcome, account)]
    for welcome in ours or welcomes:
        assert welcome.extension is not None
        if welcome.extension.build != BUILD:
            findings.append(
                Finding("extension.skew", f"it is of build {welcome.extension.build}, this command of {BUILD}")
            )
    if not ours and any(welcome.account is None for welcome in welcomes):
        findings.append(Finding("extension.no-account", "none of the connected extensions has this account"))
    elif not ours:
        others = ", ".join(sorted({welcome.account or "" for welcome in welcomes}))
        findings.append(Finding("extension.other-account", f"it is set to {others}"))
    builds = {welcome.extension.build for welcome in welcomes if welcome.extension is not None}
    return HopReport(Hop.EXTENSION, f"build {', '.join(sorted(builds))}", tuple(findings))


def remove_left_over(path: Path) -> None:
    """Remove a socket whose host has ended."""
    with suppress(FileNotFoundError):
        path.unlink()


def _is_of(welcome: Welcome, account: str | None) -> bool:
    return account is not None and welcome.account is not None and is_same_account(welcome.account, account)
