"""The browser and what may stand in its way: whether there is one, its confinement, an administrator's policies."""

from __future__ import annotations

from cdp.errors import BrowserNotFound
from cdp.finder import confinement_of, find_browser
from native_host.protocol import EXTENSION_ID, HOST_NAME
from onboarding.detection import extension_policy_problem, host_policy_problem, read_policies
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport


def examine_browser(look: Look) -> HopReport:
    """Find the browser that would be started."""
    try:
        browser = find_browser(look.environ)
    except BrowserNotFound as error:
        return HopReport(Hop.BROWSER, "none", (Finding("browser.missing", str(error)),))
    detail = f"{browser.name} at {browser.path}"
    confinement = confinement_of(browser.path)
    if confinement is not None:
        return HopReport(Hop.BROWSER, detail, (Finding("browser.confined", f"{browser.path} is a {confinement}"),))
    return HopReport(Hop.BROWSER, detail)


def examine_policies(look: Look) -> HopReport:
    """Read the mandatory policies of this machine."""
    policies = read_policies(look.policy_folders)
    findings: list[Finding] = []
    host, extension = host_policy_problem(policies), extension_policy_problem(policies)
    if host is not None:
        findings.append(Finding("policy.host", f"{host} against {HOST_NAME}"))
    if extension is not None:
        findings.append(Finding("policy.extension", f"{extension} against {EXTENSION_ID}"))
    return HopReport(Hop.POLICIES, "none in the way" if not findings else "in the way", tuple(findings))
