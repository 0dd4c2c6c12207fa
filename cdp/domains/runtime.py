"""Runtime: script in a target."""

from __future__ import annotations

from typing import ClassVar

import attrs

from cdp.domains.protocol import Command, EventParams, Nothing


@attrs.frozen
class RemoteObject:
    """A value of the page: `value` as JSON where it was asked for by value."""

    type: str
    subtype: str | None = None
    value: object = None
    description: str | None = None
    objectId: str | None = None


@attrs.frozen
class ExceptionDetails:
    text: str
    lineNumber: int
    columnNumber: int
    exception: RemoteObject | None = None


@attrs.frozen
class EvaluateResult:
    result: RemoteObject
    exceptionDetails: ExceptionDetails | None = None


@attrs.frozen
class Evaluate(Command[EvaluateResult]):
    method: ClassVar[str] = "Runtime.evaluate"
    result: ClassVar[type[object]] = EvaluateResult
    expression: str
    awaitPromise: bool | None = None
    returnByValue: bool | None = None
    userGesture: bool | None = None


@attrs.frozen
class Enable(Command[Nothing]):
    method: ClassVar[str] = "Runtime.enable"


@attrs.frozen
class AddBinding(Command[Nothing]):
    method: ClassVar[str] = "Runtime.addBinding"
    name: str


@attrs.frozen
class BindingCalled(EventParams):
    method: ClassVar[str] = "Runtime.bindingCalled"
    name: str
    payload: str
    executionContextId: int


@attrs.frozen
class ConsoleAPICalled(EventParams):
    method: ClassVar[str] = "Runtime.consoleAPICalled"
    type: str
    args: tuple[RemoteObject, ...]
    timestamp: float
