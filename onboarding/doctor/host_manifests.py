"""The native host as browsers find it: in the browser that is used it must lead to us, in the others it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, cast

from cdp.errors import BrowserNotFound
from cdp.finder import find_browser
from native_host.paths import config_file, launcher_file, profile_folder
from native_host.registration import HOSTS_FOLDER, check_manifest, is_registered, manifest_file
from onboarding.configuration import UnreadableConfig, read_browser_config
from onboarding.doctor.findings import Hop
from onboarding.doctor.look import Look
from onboarding.doctor.report import Finding, HopReport, not_reached
from onboarding.profile_folders import FAMILIES, default_profile_folder, maybe_family

UNKNOWN_BROWSER: Final = "no browser of a kind whose profile folder is known"


def examine_host_manifests(look: Look) -> HopReport:
    """Check the manifest of the browser that is used, and look for others of our name.

    Before the first onboarding nobody knows which browser that will be.
    """
    if not config_file(look.home).exists():
        return not_reached(Hop.HOST_MANIFEST)
    wanted = used_profile(look)
    if wanted is None:
        return HopReport(Hop.HOST_MANIFEST, "none", (Finding("host.unregistered", UNKNOWN_BROWSER),))
    file = manifest_file(wanted / HOSTS_FOLDER)
    findings = _findings_of_ours(look, wanted, file)
    for family in FAMILIES:
        other = manifest_file(_everyday(look, family.name) / HOSTS_FOLDER)
        path = maybe_host_path(other)
        if other != file and path is not None and path != str(launcher_file(look.home)):
            findings.append(Finding("host.elsewhere", f"{other} starts {path}", str(other)))
    return HopReport(Hop.HOST_MANIFEST, str(file), tuple(findings))


def used_profile(look: Look) -> Path | None:
    """Return the user data folder of the browser that is used; None if it is everyday's and of an unknown kind."""
    try:
        if read_browser_config(look.home).browser == "managed":
            return profile_folder(look.home)
        family = maybe_family(find_browser(look.environ))
    except (UnreadableConfig, BrowserNotFound):
        return None
    return None if family is None else _everyday(look, family.name)


def maybe_host_path(file: Path) -> str | None:
    """Return which program a manifest starts, None where there is no manifest or it names none."""
    manifest = _read(file)
    path = cast("dict[str, object]", manifest).get("path") if isinstance(manifest, dict) else None
    return path if isinstance(path, str) else None


def _everyday(look: Look, family_name: str) -> Path:
    family = next(family for family in FAMILIES if family.name == family_name)
    return default_profile_folder(family, look.places.home, look.environ, look.platform)


def _findings_of_ours(look: Look, profile: Path, file: Path) -> list[Finding]:
    if not file.exists():
        return [Finding("host.unregistered", f"there is no {file}", str(profile))]
    launcher = launcher_file(look.home)
    path = maybe_host_path(file)
    if path is not None and path != str(launcher):
        return [Finding("host.other-path", f"{file} starts {path}", str(profile))]
    problems = check_manifest(_read(file))
    if path is not None and not launcher.exists():
        return [Finding("host.launcher", f"there is no {launcher}", str(profile))]
    if problems:
        return [Finding("host.manifest", f"{file}: {problem}", str(profile)) for problem in problems]
    if not is_registered(file.parent, look.home, look.python):
        return [Finding("host.launcher", f"{launcher} or {file} is of another installation", str(profile))]
    return []


def _read(file: Path) -> object:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
