"""Whether a window can be shown here."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping

from cdp.launcher import BROWSER_ARGS_VARIABLE


class NoDisplay(Exception):
    """A window is needed and there is no display to show it on."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a window, and there is no display here (DISPLAY and WAYLAND_DISPLAY are unset)")
        self.hint = "Run the command in a desktop session, or over `ssh -X`."


def has_display(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether programs started with `environ` can open a window."""
    return platform in ("darwin", "win32") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def is_headless_requested(environ: Mapping[str, str]) -> bool:
    """Whether the extra browser arguments ask for a browser without a window, as a CI harness does."""
    arguments = shlex.split(environ.get(BROWSER_ARGS_VARIABLE, ""))
    return any(argument == "--headless" or argument.startswith("--headless=") for argument in arguments)
