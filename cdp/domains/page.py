"""Page: one page's loading and life."""

from __future__ import annotations

from typing import ClassVar, Literal

import attrs

from cdp.domains.protocol import Command, EventParams, Nothing


@attrs.frozen
class Enable(Command[Nothing]):
    method: ClassVar[str] = "Page.enable"


@attrs.frozen
class NavigateResult:
    """`errorText` is there when the navigation failed."""

    frameId: str
    loaderId: str | None = None
    errorText: str | None = None


@attrs.frozen
class Navigate(Command[NavigateResult]):
    method: ClassVar[str] = "Page.navigate"
    result: ClassVar[type[object]] = NavigateResult
    url: str


@attrs.frozen
class SetWebLifecycleState(Command[Nothing]):
    method: ClassVar[str] = "Page.setWebLifecycleState"
    state: Literal["frozen", "active"]


@attrs.frozen
class LoadEventFired(EventParams):
    method: ClassVar[str] = "Page.loadEventFired"
    timestamp: float
