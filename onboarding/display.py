"""Whether a window can be shown here."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from cdp.launcher import BROWSER_ARGS_VARIABLE
from native_host.paths import ensure_private_folder

DISPLAY_VARIABLES: Final = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)
"""What a program needs to show a window. MCP clients pass HOME and PATH to their servers, and none of these."""


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


def remember_display(home: Path, environ: Mapping[str, str]) -> None:
    """Keep where windows go, for a browser that an MCP client's server starts later without knowing it."""
    if not has_display(environ):
        return
    values = {name: environ[name] for name in DISPLAY_VARIABLES if environ.get(name)}
    ensure_private_folder(home)
    _file(home).write_text(json.dumps(values), encoding="utf-8")


def with_display(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ`, completed by the display that was remembered where it names none."""
    if has_display(environ):
        return dict(environ)
    try:
        stored: object = json.loads(_file(home).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return dict(environ)
    values = cast("dict[str, object]", stored) if isinstance(stored, dict) else {}
    return {**environ, **{name: str(values[name]) for name in DISPLAY_VARIABLES if name in values}}


def _file(home: Path) -> Path:
    return home / "display.json"
