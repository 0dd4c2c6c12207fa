"""What `doctor --fix` does: only what the person has asked for before, and what can be done again without harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from native_host.paths import profile_folder
from notebook_gateway.doctor.companion import remove_left_over
from onboarding.clients import CLIENTS, CannotInstall, install
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding
from onboarding.footprint import Footprint, UnreadableFootprint
from onboarding.host_files import register_in
from onboarding.managed_browser import prepare_profile


class NotMended(Exception):
    """One finding could not be mended; the message says why."""


def _close_to_others(look: Look, finding: Finding) -> None:
    path = Path(finding.about)
    path.chmod(path.stat().st_mode & 0o700)


def _install_again(look: Look, finding: Finding) -> None:
    install(CLIENTS[finding.about], look.server, look.places, Footprint(look.home))


def _register_again(look: Look, finding: Finding) -> None:
    if not finding.about:
        raise NotMended("no browser whose profile is known")
    profile = Path(finding.about)
    if profile == profile_folder(look.home):
        prepare_profile(look.home)
    else:
        register_in(profile, look.home, look.python, Footprint(look.home))


def _remove_left_over(look: Look, finding: Finding) -> None:
    remove_left_over(Path(finding.about))


FIXES: Final = MappingProxyType(
    {
        "config.open": _close_to_others,
        "client.no-interpreter": _install_again,
        "client.other-entry": _install_again,
        "host.unregistered": _register_again,
        "host.manifest": _register_again,
        "host.other-path": _register_again,
        "host.launcher": _register_again,
        "host.skew": _register_again,
        "socket.stale": _remove_left_over,
    }
)
"""By the id of a finding whose `Kind.is_mended` is True."""

Fix = Callable[[Look, Finding], None]


def mend(look: Look, findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Mend what can be; return the ids of what was mended, and a sentence for each that could not be."""
    mended: list[str] = []
    failed: list[str] = []
    for finding in findings:
        fix: Fix | None = FIXES.get(finding.id)
        if fix is None:
            continue
        try:
            fix(look, finding)
        except (OSError, ValueError, CannotInstall, UnreadableFootprint, NotMended) as error:
            failed.append(f"{finding.id}: {error}")
        else:
            mended.append(finding.id)
    return mended, failed
