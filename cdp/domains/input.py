"""Input: keys and the mouse, as a person would use them."""

from __future__ import annotations

from typing import ClassVar, Literal

import attrs

from cdp.domains.protocol import Command, Nothing


@attrs.frozen
class DispatchKeyEvent(Command[Nothing]):
    method: ClassVar[str] = "Input.dispatchKeyEvent"
    type: Literal["keyDown", "keyUp", "rawKeyDown", "char"]
    modifiers: int | None = None
    text: str | None = None
    key: str | None = None
    code: str | None = None


@attrs.frozen
class DispatchMouseEvent(Command[Nothing]):
    """`x` and `y` are in CSS pixels from the top left of the viewport."""

    method: ClassVar[str] = "Input.dispatchMouseEvent"
    type: Literal["mousePressed", "mouseReleased", "mouseMoved", "mouseWheel"]
    x: float
    y: float
    button: Literal["none", "left", "middle", "right"] | None = None
    clickCount: int | None = None
