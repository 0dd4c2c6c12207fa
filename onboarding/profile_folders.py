"""Where the person's everyday browsers keep their profiles, per kind of browser and system. Pure.

Two uses: the native host of an everyday browser is registered beside its profiles, and the managed profile must never
be one of these folders (case C-090). Sources: https://chromium.googlesource.com/chromium/src/+/HEAD/docs/user_data_dir.md
and https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging. Only Linux was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from cdp.finder import Browser


@attrs.frozen
class Family:
    """One kind of browser. `linux` is relative to the configuration folder, `mac` to Application Support."""

    name: str
    linux: str
    mac: str
    executables: tuple[str, ...]


FAMILIES: Final = (
    Family("Chromium", "chromium", "Chromium", ("chromium", "chromium-browser")),
    Family(
        "Chrome for Testing",
        "google-chrome-for-testing",
        "Google/Chrome for Testing",
        ("chrome-for-testing", "google chrome for testing"),
    ),
    Family(
        "Google Chrome",
        "google-chrome",
        "Google/Chrome",
        ("google-chrome", "google-chrome-stable", "chrome", "google chrome"),
    ),
    Family("Microsoft Edge", "microsoft-edge", "Microsoft Edge", ("microsoft-edge", "microsoft-edge-stable", "msedge")),
    Family(
        "Brave",
        "BraveSoftware/Brave-Browser",
        "BraveSoftware/Brave-Browser",
        ("brave", "brave-browser", "brave browser"),
    ),
)


def maybe_family(browser: Browser) -> Family | None:
    """Return the kind of a browser, by the name that the finder gave it or by its executable's."""
    executable = browser.path.name.lower()
    for family in FAMILIES:
        if browser.name == family.name or executable in family.executables:
            return family
    return None


def default_profile_folder(family: Family, person_home: Path, environ: Mapping[str, str], platform: str) -> Path:
    """Return the user data folder that this kind of browser uses when none is named."""
    if platform == "darwin":
        return person_home / "Library" / "Application Support" / family.mac
    config = environ.get("CHROME_CONFIG_HOME") or environ.get("XDG_CONFIG_HOME") or person_home / ".config"
    return Path(config) / family.linux


def is_default_profile(folder: Path, person_home: Path, environ: Mapping[str, str], platform: str) -> bool:
    """Whether `folder` is, lies in, or holds the profile folder of an everyday browser."""
    asked = folder.resolve()
    for family in FAMILIES:
        theirs = default_profile_folder(family, person_home, environ, platform).resolve()
        if asked == theirs or theirs in asked.parents or asked in theirs.parents:
            return True
    return False
