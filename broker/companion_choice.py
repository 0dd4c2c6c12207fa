"""Which of the reachable companions is ours, and what exactly is missing when none is. Pure.

A companion is chosen by the account configured in its extension, never because it was found first: a call in the wrong
browser profile is the worst failure of this product (case C-039).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path

from attrs import frozen

from broker.errors import AccountMismatch, CompanionOffline, GatewayError, VersionSkew
from broker.relay_frames import Welcome


class Verdict(Enum):
    """What one socket turned out to be."""

    MATCH = auto()
    NO_HOST = auto()  # nobody answers: the host behind the socket has ended, or hangs
    NO_EXTENSION = auto()  # the host runs, its worker has not reported yet
    NO_ACCOUNT = auto()  # the person has configured no account in that extension
    OTHER_ACCOUNT = auto()
    SKEW = auto()


@frozen
class Finding:
    """One socket and its verdict. `message` is the reason in words, where the verdict alone does not say it."""

    socket_path: Path
    verdict: Verdict
    message: str = ""
    account: str | None = None
    profile: str | None = None


def judge(socket_path: Path, welcome: Welcome, account: str) -> Finding:
    """Return what the greeting of a companion makes of it."""
    profile = welcome.extension.profile if welcome.extension else None
    if welcome.extension is None:
        verdict = Verdict.NO_EXTENSION
    elif not welcome.account:
        verdict = Verdict.NO_ACCOUNT
    elif is_same_account(welcome.account, account):
        verdict = Verdict.MATCH
    else:
        verdict = Verdict.OTHER_ACCOUNT
    return Finding(socket_path, verdict, account=welcome.account, profile=profile)


def is_same_account(one: str, other: str) -> bool:
    """Compare two addresses as Google does: letters of either case, spaces around them ignored."""
    return one.strip().casefold() == other.strip().casefold()


def choose(findings: Sequence[Finding], last_profile: str | None) -> Finding | None:
    """Return the companion to use: the profile used before if it matches still, else the first match in order.

    Two profiles may be signed in with the same account. Staying with one keeps the conversation that lives there.
    """
    matches = [finding for finding in findings if finding.verdict is Verdict.MATCH]
    same = [finding for finding in matches if finding.profile == last_profile]
    return next(iter(same + matches), None)


def explain(findings: Sequence[Finding], account: str, run_folder: Path) -> GatewayError:
    """Return the most useful reason why there is no companion; the rarer the fault, the better it explains."""
    by_verdict = {finding.verdict: finding for finding in reversed(findings)}
    if skew := by_verdict.get(Verdict.SKEW):
        return VersionSkew(skew.message, started=False)
    if Verdict.NO_ACCOUNT in by_verdict:
        return CompanionOffline(
            "A browser is connected, but no account is configured in its extension.",
            hint=f"Ask the person to enter {mask_address(account)} in the extension, then call again.",
            started=False,
        )
    if Verdict.OTHER_ACCOUNT in by_verdict:
        others = {mask_address(f.account or "") for f in findings if f.verdict is Verdict.OTHER_ACCOUNT}
        return AccountMismatch(
            f"The connected browser is set up for {', '.join(sorted(others))}, "
            f"this session for {mask_address(account)}; nothing was sent.",
            details={"expected": mask_address(account), "found": sorted(others)},
            started=False,
        )
    if Verdict.NO_EXTENSION in by_verdict:
        return CompanionOffline(
            "The native host runs, but the extension behind it has not reported yet.",
            hint="Call again in a moment; if it stays so, reload the extension in chrome://extensions.",
            started=False,
        )
    if no_host := by_verdict.get(Verdict.NO_HOST):
        return CompanionOffline(
            f"No browser is connected: {len(findings)} left-over socket(s), none of them answers. {no_host.message}",
            hint="Start the browser that has the extension, then call again.",
            started=False,
        )
    return CompanionOffline(
        f"No browser is connected: there is no companion socket in {run_folder}.",
        hint="Start the browser that has the extension (`notebook-gateway doctor` shows what is missing), "
        "then call again.",
        started=False,
    )


def mask_address(address: str) -> str:
    """Return an address that its owner recognises and nobody else learns: first letter and domain."""
    name, at, domain = address.partition("@")
    return f"{name[:1]}***{at}{domain}"
