"""The person at the emulated sign-in page: waits for the sign-in window, types address and password, clicks the button.

For tests and unattended tries of the emulator only. It attaches to the window, which the product itself never does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, cast

import trio

from cdp.connection import Session, open_connection
from cdp.errors import CallFailed, CdpError, SessionDetached
from cdp.http_json import get_json
from cdp.messages import text_field
from cdp.polling import until
from cdp.targets import attached, evaluate, get_targets, js_literal
from harness.emulator.hosts import CONSENT_HOST, SIGN_IN_HOST
from harness.emulator.sign_in_site import PASSWORD
from native_host.paths import sign_in_file

ANSWER_TIMEOUT_S: Final = 5.0
WINDOW_TIMEOUT_S: Final = 60.0


async def sign_in_once(home: Path, account: str, password: str = PASSWORD) -> None:
    """Wait for a sign-in window of `home`, fill in its form as a person would; the caller owns the deadline."""
    await sign_in_at(await until(partial(_maybe_port, home)), account, password)


async def sign_in_and_consent(home: Path, account: str) -> None:
    """As `sign_in_once`, then click the button of the page that asks for consent."""
    await sign_in_once(home, account)
    port = await until(partial(_maybe_port, home))
    async with page_of(port, CONSENT_HOST, "button[type=submit]") as page:
        await click(page, "button[type=submit]")


async def sign_in_at(port: int, account: str, password: str = PASSWORD) -> None:
    """Fill in the sign-in form that shows, or will show, in the browser whose debugging port this is."""
    async with page_of(port, SIGN_IN_HOST, "input[type=password]") as page:
        await type_into(page, "input[type=email]", account)
        await type_into(page, "input[type=password]", password)
        await click(page, "button[type=submit]")


async def sign_in_always(home: Path, account: str) -> None:
    """Sign in whenever a window of `home` opens, until cancelled. A window that ends under our hands is left alone."""
    while True:
        with suppress(CdpError, trio.TooSlowError):
            with trio.fail_after(WINDOW_TIMEOUT_S):
                await sign_in_once(home, account)
        await until(partial(_is_closed, home))


async def _is_closed(home: Path) -> bool:
    await trio.lowlevel.checkpoint()
    return _read_port(home) is None


@asynccontextmanager
async def page_of(port: int, host: str, selector: str) -> AsyncGenerator[Session]:
    """Attach to the page of `host` in the browser at `port`, once an element is in it."""
    version = await get_json("127.0.0.1", port, "/json/version", timeout_s=ANSWER_TIMEOUT_S)
    url = text_field(cast("dict[str, object]", version), "webSocketDebuggerUrl")
    async with open_connection(url) as connection:

        async def find() -> str | None:
            pages = [target for target in await get_targets(connection) if f"//{host}/" in target.url]
            return pages[0].id if pages else None

        async with attached(connection, await until(find)) as session:
            await until(partial(_has, session, selector))
            yield session


async def type_into(page: Session, selector: str, text: str) -> None:
    """Click into a field and type."""
    await click(page, selector)
    for character in text:
        await page.call("Input.dispatchKeyEvent", {"type": "char", "text": character})


async def click(page: Session, selector: str) -> None:
    """Press and release the mouse in the middle of an element."""
    box = await evaluate(page, f"(({_MIDDLE})({js_literal(selector)}))")
    x, y = cast("list[float]", box)
    for kind in ("mousePressed", "mouseReleased"):
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        await page.call("Input.dispatchMouseEvent", event)


_MIDDLE: Final = """selector => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""


async def _has(page: Session, selector: str) -> bool:
    try:
        expression = f"document.readyState === 'complete' && document.querySelector({js_literal(selector)}) !== null"
        return await evaluate(page, expression) is True
    except (CallFailed, SessionDetached):
        return False  # between two documents


async def _maybe_port(home: Path) -> int | None:
    await trio.lowlevel.checkpoint()
    return _read_port(home)


def _read_port(home: Path) -> int | None:
    try:
        stored: object = json.loads(sign_in_file(home).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, int]", stored)["port"]
