"""Find a browser of the Chromium family: a table of well-known places, and one variable that overrules it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import attrs

from cdp.errors import BrowserNotFound

BROWSER_VARIABLE: Final = "NOTEBOOK_GATEWAY_BROWSER"


@attrs.frozen
class Browser:
    """One installed browser. `name` is for people: "Chromium", "Google Chrome" …"""

    path: Path
    name: str


# Unbranded builds first: branded Chrome ignores --load-extension from 137 on and installs an unpacked extension over
# the debugging pipe only. A name without a slash is looked up on PATH.
LINUX_PLACES: Final = (
    ("Chromium", "chromium"),
    ("Chromium", "chromium-browser"),
    ("Chromium", "/usr/lib/chromium/chromium"),
    ("Chrome for Testing", "chrome-for-testing"),
    ("Chrome for Testing", "/opt/google/chrome-for-testing/chrome"),
    ("Google Chrome", "google-chrome-stable"),
    ("Google Chrome", "google-chrome"),
    ("Google Chrome", "/opt/google/chrome/chrome"),
    ("Microsoft Edge", "microsoft-edge-stable"),
    ("Microsoft Edge", "microsoft-edge"),
    ("Brave", "brave-browser"),
    ("Brave", "brave"),
    ("Chromium (snap)", "/snap/bin/chromium"),
    ("Brave (snap)", "/snap/bin/brave"),
    *(
        (f"{name} (flatpak)", f"{folder}/flatpak/exports/bin/{application}")
        for folder in ("/var/lib", "~/.local/share")
        for name, application in (
            ("Chromium", "org.chromium.Chromium"),
            ("Google Chrome", "com.google.Chrome"),
            ("Microsoft Edge", "com.microsoft.Edge"),
            ("Brave", "com.brave.Browser"),
        )
    ),
)
_MAC_APPLICATIONS: Final = (
    ("Chromium", "Chromium.app/Contents/MacOS/Chromium"),
    ("Chrome for Testing", "Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing"),
    ("Google Chrome", "Google Chrome.app/Contents/MacOS/Google Chrome"),
    ("Microsoft Edge", "Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
    ("Brave", "Brave Browser.app/Contents/MacOS/Brave Browser"),
)
MAC_PLACES: Final = tuple(
    (name, f"{folder}/{application}")
    for name, application in _MAC_APPLICATIONS
    for folder in ("/Applications", "~/Applications")
)
_WINDOWS_PROGRAMS: Final = (
    ("Chromium", "Chromium/Application/chrome.exe"),
    ("Google Chrome", "Google/Chrome/Application/chrome.exe"),
    ("Microsoft Edge", "Microsoft/Edge/Application/msedge.exe"),
    ("Brave", "BraveSoftware/Brave-Browser/Application/brave.exe"),
)
_WINDOWS_FOLDERS: Final = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
"""The variables that name where programs are installed, for all users and for one (not tested on Windows)."""


def places_of(platform: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return name and place of every browser that is looked for on this kind of system, in order."""
    if platform == "win32":
        folders = [environ[variable] for variable in _WINDOWS_FOLDERS if environ.get(variable)]
        return [(name, f"{folder}/{program}") for name, program in _WINDOWS_PROGRAMS for folder in folders]
    return list(MAC_PLACES if platform == "darwin" else LINUX_PLACES)


def confinement_of(path: Path) -> str | None:
    """Return "snap" or "flatpak" for a browser in such a confinement, which starts no native messaging host of ours.

    A package's own command may be a link to a snap, as Ubuntu's ``chromium-browser`` is.
    """
    for name in (path, path.resolve()):
        if str(name).startswith("/snap/") or name.name == "snap":
            return "snap"
        if "/flatpak/exports/bin/" in str(name) or name.name == "flatpak":
            return "flatpak"
    return None


def find_browser(
    environ: Mapping[str, str] = os.environ,
    *,
    platform: str = sys.platform,
    maybe_executable: Callable[[str], str | None] = shutil.which,
) -> Browser:
    """Return the browser that $NOTEBOOK_GATEWAY_BROWSER names, else the first one found in the usual places.

    `maybe_executable` answers with the path of an executable for a name or a path, or None (as `shutil.which` does).

    Raises:
        BrowserNotFound: with everything that was looked for, and the one command that installs a browser.
    """
    chosen = environ.get(BROWSER_VARIABLE)
    if chosen:
        path = maybe_executable(os.path.expanduser(chosen))
        if path is None:
            raise BrowserNotFound(
                f"{BROWSER_VARIABLE} names {chosen!r}, which is no executable file. Correct it or unset it.", [chosen]
            )
        return Browser(Path(path), Path(path).name)
    found = find_all(environ, platform=platform, maybe_executable=maybe_executable)
    if found:
        return found[0]
    looked_for = [place for _, place in places_of(platform, environ)]
    raise BrowserNotFound(
        f"no Chrome, Chromium, Edge or Brave found (looked for {', '.join(looked_for)}). "
        f"Install one with `{install_command(platform, maybe_executable)}`, or name yours in {BROWSER_VARIABLE}.",
        looked_for,
    )


def find_all(
    environ: Mapping[str, str] = os.environ,
    *,
    platform: str = sys.platform,
    maybe_executable: Callable[[str], str | None] = shutil.which,
) -> list[Browser]:
    """Return every browser in the usual places, in the order of preference; confined ones come last."""
    browsers: dict[Path, Browser] = {}
    for name, place in places_of(platform, environ):
        path = maybe_executable(os.path.expanduser(place))
        if path is not None:
            browsers.setdefault(Path(path), Browser(Path(path), name))
    return sorted(browsers.values(), key=lambda browser: confinement_of(browser.path) is not None)


def install_command(platform: str, maybe_executable: Callable[[str], str | None] = shutil.which) -> str:
    """Return the one command that installs a browser on this kind of system."""
    if platform == "darwin":
        return "brew install --cask google-chrome"
    if platform == "win32":
        return "winget install Google.Chrome"
    for manager, command in (
        ("apt-get", "sudo apt-get install chromium"),
        ("dnf", "sudo dnf install chromium"),
        ("pacman", "sudo pacman -S chromium"),
        ("zypper", "sudo zypper install chromium"),
    ):
        if maybe_executable(manager) is not None:
            return command
    return "sudo apt-get install chromium"


def main() -> int:
    """Print the path of the browser that would be used; for set-up scripts. Exit code 1 when there is none."""
    try:
        print(find_browser().path)
    except BrowserNotFound as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
