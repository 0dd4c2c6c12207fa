"""Sign-in: a browser run of its own, in which nothing but a person acts.

A normal window on the managed profile: no extension, no debugging pipe, no automation switch. A page can tell a browser
that is driven (pipe, port 0 and headless each set ``navigator.webdriver``; a port of our choice does not: measured),
and Google turns such browsers away. So a loopback port is open for as long as the window is, only the list of open
addresses is read from it, and nothing is ever attached to a page.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

import attrs
import trio

from cdp.connection import open_connection
from cdp.errors import CdpError, ConnectFailed
from cdp.finder import find_browser
from cdp.http_json import get_json
from cdp.launcher import Launched, launch
from cdp.messages import object_field, text_field
from native_host.paths import ensure_private_folder, profile_folder, run_folder, sign_in_file
from onboarding.display import NoDisplay, has_display, is_headless_requested
from onboarding.managed_browser import browser_environment, prepare_profile, profile_arguments
from onboarding.pages import PageKind, PageState, most_telling, sign_in_url

POLL_S: Final = 0.25
LIST_TIMEOUT_S: Final = 5.0
SETTLED_S: Final = 3.0
"""A page that only leads on to another one is gone by then."""
FINAL_PAGES: Final = frozenset({PageKind.WALL, PageKind.REGION})
CLOSE_TIMEOUT_S: Final = 8.0
"""For the browser to write its cookies to the disk; it needs one or two (measured)."""


class SignInResult(StrEnum):
    SIGNED_IN = "signed_in"
    """A page of the app was shown. Whose it is, the first real read tells."""
    CLOSED = "closed"
    """The person closed the window."""
    REFUSED = "refused"
    """A page stands there that no signing in gets past; `SignInOutcome.page` says which."""
    TIMED_OUT = "timed_out"


@attrs.frozen
class SignInWindow:
    """The open window. `port` is the loopback port whose list of addresses is read."""

    pid: int
    port: int


OnWaiting = Callable[[SignInWindow, PageKind], None]
"""Told when the window is open, and again whenever another kind of page shows in it."""


@attrs.frozen
class SignInOutcome:
    """How it ended, and the last telling page that was seen."""

    result: SignInResult
    page: PageState


async def run_sign_in(
    home: Path,
    account: str | None,
    *,
    environ: Mapping[str, str] = os.environ,
    timeout_s: float,
    on_waiting: OnWaiting,
    beside_others: bool = False,
) -> SignInOutcome:
    """Open the window and wait for the person, at most `timeout_s`. The browser has ended when this returns.

    `run/sign-in.json` names process and port for as long as the window is open. `account` is only offered to the page;
    `beside_others` asks for it where another account is signed in.

    Raises:
        NoDisplay: there is nothing to show a window on.
        BrowserNotFound, LaunchFailed: as for the managed browser.
    """
    if not has_display(environ) and not is_headless_requested(environ):
        raise NoDisplay("signing in")
    prepare_profile(home)
    port = _free_port()
    async with launch(
        find_browser(environ),
        user_data_dir=profile_folder(home),
        args=[*profile_arguments(), "--new-window", sign_in_url(account, beside_others=beside_others)],
        debug_port=port,
        environ=browser_environment(home, environ),
        shutdown_timeout_s=CLOSE_TIMEOUT_S,
    ) as launched:
        window = SignInWindow(launched.pid, port)
        with _announced(home, window):
            return await _wait_for_person(launched, window, timeout_s, on_waiting)


async def _wait_for_person(
    launched: Launched, window: SignInWindow, timeout_s: float, on_waiting: OnWaiting
) -> SignInOutcome:
    page, since = PageState(PageKind.NONE), trio.current_time()
    on_waiting(window, page.kind)
    with trio.move_on_after(timeout_s):
        while not launched.has_exited:
            try:
                urls = _page_urls(await get_json("127.0.0.1", window.port, "/json/list", timeout_s=LIST_TIMEOUT_S))
            except ConnectFailed:
                urls = None  # it is ending, or too busy to answer just now
            if urls == []:
                return SignInOutcome(SignInResult.CLOSED, page)
            now = most_telling(urls) if urls else page
            if now.kind is not page.kind:
                since = trio.current_time()
                on_waiting(window, now.kind)
            page = now
            if page.kind is PageKind.APP:
                await _close(launched, window.port)
                return SignInOutcome(SignInResult.SIGNED_IN, page)
            if page.kind in FINAL_PAGES and trio.current_time() - since > SETTLED_S:
                await _close(launched, window.port)
                return SignInOutcome(SignInResult.REFUSED, page)
            await trio.sleep(POLL_S)
        return SignInOutcome(SignInResult.CLOSED, page)
    return SignInOutcome(SignInResult.TIMED_OUT, page)


async def _close(launched: Launched, port: int) -> None:
    """Ask the browser to close as by its last window, so that it writes its cookies; SIGTERM loses them (measured)."""
    with trio.move_on_after(CLOSE_TIMEOUT_S), suppress(CdpError):
        version = await get_json("127.0.0.1", port, "/json/version", timeout_s=LIST_TIMEOUT_S)
        url = text_field(object_field({"version": version}, "version"), "webSocketDebuggerUrl")
        async with open_connection(url) as connection:
            await connection.call("Browser.close")
        await launched.process.wait()


def _page_urls(targets: object) -> list[str]:
    if not isinstance(targets, list):
        return []
    rows = [cast("dict[str, object]", row) for row in cast("list[object]", targets) if isinstance(row, dict)]
    return [str(row.get("url", "")) for row in rows if row.get("type") == "page"]


def _free_port() -> int:
    """Return a port that was free just now. Chrome gets a number, because port 0 would set ``navigator.webdriver``."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def _announced(home: Path, window: SignInWindow) -> Generator[None]:
    ensure_private_folder(run_folder(home))
    file = sign_in_file(home)
    file.touch(mode=0o600)
    file.write_text(json.dumps(attrs.asdict(window)), encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
