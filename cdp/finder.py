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
# the debugging pipe only. Snap packages come last: their confinement keeps a native messaging host from starting.
# A name without a slash is looked up on PATH.
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
    places = MAC_PLACES if platform == "darwin" else LINUX_PLACES
    for name, place in places:
        path = maybe_executable(os.path.expanduser(place))
        if path is not None:
            # A package's symbolic link to snap is a snap all the same, and comes last.
            if name != "Chromium (snap)" and str(Path(path).resolve()).startswith("/snap/"):
                continue
            return Browser(Path(path), name)
    looked_for = [place for _, place in places]
    raise BrowserNotFound(
        f"no Chrome, Chromium, Edge or Brave found (looked for {', '.join(looked_for)}). "
        f"Install one with `{install_command(platform, maybe_executable)}`, or name yours in {BROWSER_VARIABLE}.",
        looked_for,
    )


def install_command(platform: str, maybe_executable: Callable[[str], str | None] = shutil.which) -> str:
    """Return the one command that installs a browser on this kind of system."""
    if platform == "darwin":
        return "brew install --cask google-chrome"
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
