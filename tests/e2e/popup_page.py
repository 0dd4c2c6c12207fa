"""The popup in a tab of the real browser, used as a person does: by what it shows, by mouse and by keyboard."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

import trio

from cdp.connection import Connection, Session
from cdp.polling import until
from cdp.targets import attached, evaluate, js_literal
from harness.person import click
from native_host.protocol import EXTENSION_ID

POPUP_URL: Final = f"chrome-extension://{EXTENSION_ID}/popup.html"
SHOWN_WITHIN_S: Final = 15.0
PICTURES_VARIABLE: Final = "NOTEBOOK_GATEWAY_PICTURES"
"""A folder into which the tests put what the popup looked like, for docs/pictures."""


class Popup:
    """Made by `open_popup`."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def text(self, selector: str) -> str:
        """Return the text of an element as it is rendered."""
        return str(await evaluate(self.session, f"document.querySelector({js_literal(selector)})?.innerText ?? ''"))

    async def wait_for(self, selector: str, text: str) -> None:
        """Wait until an element shows `text`."""
        seen = ""

        async def is_shown() -> bool:
            nonlocal seen
            seen = await self.text(selector)
            return text in seen

        with trio.move_on_after(SHOWN_WITHIN_S):
            await until(is_shown)
            return
        raise AssertionError(f"{selector} never showed {text!r}, but {seen!r}")

    async def wait_until(self, expression: str) -> None:
        """Wait until script in the page yields true."""
        with trio.fail_after(SHOWN_WITHIN_S):
            await until(partial(self._is_true, expression))

    async def _is_true(self, expression: str) -> bool:
        return await evaluate(self.session, expression) is True

    async def click(self, selector: str) -> None:
        await evaluate(self.session, f"document.querySelector({js_literal(selector)}).scrollIntoView()")
        await click(self.session, selector)

    async def press(self, key: str, *, code: int, text: str = "") -> None:
        """Press and release a key wherever the focus is."""
        event: dict[str, object] = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await self.session.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **event})
        await self.session.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    async def picture(self, name: str, width: int, height: int, scheme: str) -> tuple[int, int]:
        """Show the popup at a size and in a colour scheme, keep a picture if asked to; return its size in pixels."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.session.call("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.session.call("Emulation.setDeviceMetricsOverride", metrics)
        shot = await self.session.call("Page.captureScreenshot", {"format": "png"})
        content = base64.b64decode(cast("str", shot["data"]))
        folder = os.environ.get(PICTURES_VARIABLE)
        if folder:
            (Path(folder) / f"{name}.png").write_bytes(content)
        return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


@asynccontextmanager
async def open_popup(browser: Connection) -> AsyncGenerator[Popup]:
    """Open the popup's page, wait until it has asked the worker, and close it at the end."""
    made = await browser.call("Target.createTarget", {"url": POPUP_URL})
    target_id = cast("str", made["targetId"])
    try:
        async with attached(browser, target_id) as session:
            popup = Popup(session)
            await popup.wait_until("document.querySelector('#build')?.textContent.includes('.') === true")
            yield popup
    finally:
        with trio.move_on_after(2, shield=True):
            await browser.call("Target.closeTarget", {"targetId": target_id})
