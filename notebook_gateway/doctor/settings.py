"""The first hop: what the person decided, and that nobody else can read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from broker.allowlist import Allowlist, BrokenAllowlist, read_allowlist
from broker.config import Config, read_config
from broker.errors import AuthRequired
from cdp.finder import BROWSER_VARIABLE
from cdp.launcher import BROWSER_ARGS_VARIABLE
from native_host.paths import allowlist_file, config_file, logs_folder, run_folder
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport

LOUD_VARIABLES: Final = (BROWSER_VARIABLE, BROWSER_ARGS_VARIABLE)


def maybe_config(home: Path) -> Config | None:
    """Return the configuration, None where it cannot be used."""
    try:
        return read_config(config_file(home))
    except AuthRequired:
        return None


def maybe_allowlist(home: Path) -> Allowlist | None:
    """Return the allowlist, None where it cannot be used."""
    try:
        return read_allowlist(allowlist_file(home))
    except BrokenAllowlist:
        return None


def examine_settings(look: Look) -> HopReport:
    """Read configuration and allowlist, and look at the modes of our folders."""
    findings = [
        Finding("config.open", f"{path} has mode {mode:04o}", str(path)) for path, mode in _open_to_others(look)
    ]
    for variable in LOUD_VARIABLES:
        if look.environ.get(variable):
            findings.append(Finding("config.environment", f"{variable} is set: {look.environ[variable]}"))
    account = None
    try:
        account = read_config(config_file(look.home)).account
    except AuthRequired as error:
        is_missing = not config_file(look.home).exists()
        findings.append(Finding("config.missing" if is_missing else "config.unreadable", error.message))
    try:
        allowlist = read_allowlist(allowlist_file(look.home))
    except BrokenAllowlist as error:
        findings.append(Finding("allowlist.broken", f"{allowlist_file(look.home)}: {error}"))
    else:
        if account is not None and allowlist.for_account(account).is_empty:
            findings.append(Finding("allowlist.empty", f"for {account}"))
    return HopReport(Hop.CONFIGURATION, account or "no account", tuple(findings))


def _open_to_others(look: Look) -> list[tuple[Path, int]]:
    """Return what of ours others can enter or write to, with its mode."""
    found: list[tuple[Path, int]] = []
    for path in (look.home, run_folder(look.home), logs_folder(look.home), config_file(look.home)):
        try:
            mode = stat.S_IMODE(os.lstat(path).st_mode)
        except FileNotFoundError:
            continue
        if mode & 0o077:
            found.append((path, mode))
    return found
