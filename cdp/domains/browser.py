"""Browser: the browser itself and its windows."""

from __future__ import annotations

from typing import ClassVar, Literal

import attrs

from cdp.domains.protocol import Command, Nothing


@attrs.frozen
class GetVersionResult:
    protocolVersion: str
    product: str
    revision: str
    userAgent: str
    jsVersion: str


@attrs.frozen
class GetVersion(Command[GetVersionResult]):
    method: ClassVar[str] = "Browser.getVersion"
    result: ClassVar[type[object]] = GetVersionResult


@attrs.frozen
class Close(Command[Nothing]):
    method: ClassVar[str] = "Browser.close"


@attrs.frozen
class Bounds:
    """A window's place. `windowState` cannot be given together with the others unless it is normal."""

    left: int | None = None
    top: int | None = None
    width: int | None = None
    height: int | None = None
    windowState: Literal["normal", "minimized", "maximized", "fullscreen"] | None = None


@attrs.frozen
class GetWindowForTargetResult:
    windowId: int
    bounds: Bounds


@attrs.frozen
class GetWindowForTarget(Command[GetWindowForTargetResult]):
    method: ClassVar[str] = "Browser.getWindowForTarget"
    result: ClassVar[type[object]] = GetWindowForTargetResult
    targetId: str | None = None


@attrs.frozen
class SetWindowBounds(Command[Nothing]):
    method: ClassVar[str] = "Browser.setWindowBounds"
    windowId: int
    bounds: Bounds
