"""A browser that a program of ours started: its owner leaves `run/browser.json`, and commands reach it over CDP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import trio

from cdp.connection import open_connection
from cdp.errors import CdpError
from harness.extension import evaluate_in_worker, settings_expression
from native_host import paths

REACH_TIMEOUT_S: Final = 10.0


class OwnedBrowserGone(Exception):
    """The browser named in `run/browser.json` does not answer."""


def maybe_owned_browser(home: Path) -> str | None:
    """Return the debugging address of the browser we own, or None when none is running."""
    try:
        stored: object = json.loads(paths.browser_file(home).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    cdp_url = cast("dict[str, object]", stored).get("cdp_url") if isinstance(stored, dict) else None
    return cdp_url if isinstance(cdp_url, str) else None


async def set_extension_list(cdp_url: str, account: str, notebooks: Sequence[str] | str) -> None:
    """Set the extension's own account and allowlist.

    Raises:
        OwnedBrowserGone: the browser cannot be reached within the time.
    """
    try:
        with trio.fail_after(REACH_TIMEOUT_S):
            async with open_connection(cdp_url) as connection:
                await evaluate_in_worker(connection, settings_expression(account, notebooks))
    except (CdpError, OSError, trio.TooSlowError) as error:
        raise OwnedBrowserGone(f"the browser does not answer ({type(error).__name__})") from error
