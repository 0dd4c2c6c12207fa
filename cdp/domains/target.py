"""Target: pages, workers and extensions of a browser, and sessions attached to them."""

from __future__ import annotations

from typing import ClassVar

import attrs

from cdp.domains.protocol import Command, EventParams, Nothing


@attrs.frozen
class TargetInfo:
    """`type` is Chrome's word: page, service_worker, background_page, tab …"""

    targetId: str
    type: str
    title: str
    url: str
    attached: bool
    openerId: str | None = None
    browserContextId: str | None = None


@attrs.frozen
class GetTargetsResult:
    targetInfos: tuple[TargetInfo, ...]


@attrs.frozen
class GetTargets(Command[GetTargetsResult]):
    method: ClassVar[str] = "Target.getTargets"
    result: ClassVar[type[object]] = GetTargetsResult


@attrs.frozen
class GetTargetInfoResult:
    targetInfo: TargetInfo


@attrs.frozen
class GetTargetInfo(Command[GetTargetInfoResult]):
    method: ClassVar[str] = "Target.getTargetInfo"
    result: ClassVar[type[object]] = GetTargetInfoResult
    targetId: str | None = None


@attrs.frozen
class SetDiscoverTargets(Command[Nothing]):
    method: ClassVar[str] = "Target.setDiscoverTargets"
    discover: bool


@attrs.frozen
class AttachToTargetResult:
    sessionId: str


@attrs.frozen
class AttachToTarget(Command[AttachToTargetResult]):
    """`flatten` is always true here: the connection speaks flattened sessions only."""

    method: ClassVar[str] = "Target.attachToTarget"
    result: ClassVar[type[object]] = AttachToTargetResult
    targetId: str
    flatten: bool = True


@attrs.frozen
class DetachFromTarget(Command[Nothing]):
    method: ClassVar[str] = "Target.detachFromTarget"
    sessionId: str


@attrs.frozen
class CreateTargetResult:
    targetId: str


@attrs.frozen
class CreateTarget(Command[CreateTargetResult]):
    method: ClassVar[str] = "Target.createTarget"
    result: ClassVar[type[object]] = CreateTargetResult
    url: str
    background: bool | None = None
    newWindow: bool | None = None


@attrs.frozen
class CloseTarget(Command[Nothing]):
    method: ClassVar[str] = "Target.closeTarget"
    targetId: str


@attrs.frozen
class TargetCreated(EventParams):
    method: ClassVar[str] = "Target.targetCreated"
    targetInfo: TargetInfo


@attrs.frozen
class TargetInfoChanged(EventParams):
    method: ClassVar[str] = "Target.targetInfoChanged"
    targetInfo: TargetInfo


@attrs.frozen
class TargetDestroyed(EventParams):
    method: ClassVar[str] = "Target.targetDestroyed"
    targetId: str


@attrs.frozen
class DetachedFromTarget(EventParams):
    method: ClassVar[str] = "Target.detachedFromTarget"
    sessionId: str
