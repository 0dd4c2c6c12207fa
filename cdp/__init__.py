"""Chrome DevTools Protocol client for Trio: a pure message core, the connection over it, a finder and a launcher.

The names below are the public ones. They are imported when they are first used: a program that only looks for a
browser does not pay for the WebSocket library.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cdp.connection import Connection, Session, open_connection, run_connection
    from cdp.endpoint import Endpoint, resolve_endpoint
    from cdp.errors import CdpError
    from cdp.finder import Browser, find_browser
    from cdp.launcher import Launched, launch

__all__ = [
    "Browser",
    "CdpError",
    "Connection",
    "Endpoint",
    "Launched",
    "Session",
    "find_browser",
    "launch",
    "open_connection",
    "resolve_endpoint",
    "run_connection",
]

_HOMES = {
    "cdp.connection": ("Connection", "Session", "open_connection", "run_connection"),
    "cdp.endpoint": ("Endpoint", "resolve_endpoint"),
    "cdp.errors": ("CdpError",),
    "cdp.finder": ("Browser", "find_browser"),
    "cdp.launcher": ("Launched", "launch"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
