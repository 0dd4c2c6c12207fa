"""How an MCP client starts `serve` of this installation."""

from __future__ import annotations

import sys
from pathlib import Path

from native_host.paths import HOME_VARIABLE, home_folder
from onboarding.clients import ServerEntry


def serve_entry(home: Path) -> ServerEntry:
    """Return the entry for this interpreter and home folder.

    `-P` because clients start servers in any folder, where a file named like one of our imports must not be run.
    """
    env = {} if home == home_folder({}) else {HOME_VARIABLE: str(home)}
    return ServerEntry(sys.executable, ("-P", "-m", "notebook_gateway", "serve"), env)
