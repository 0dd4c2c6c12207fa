"""What a tool is: data plus a handler. Pure; the tuple of all tools stands in `broker.tools`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from attrs import field, frozen

from broker.schemas import JsonSchema, envelope

if TYPE_CHECKING:
    from broker.session import ToolCall

Arguments = TypeVar("Arguments")

CALL_TIMEOUT_S: Final = 45.0
"""No call stays silent longer: most clients give up after 60 s."""


@frozen
class Hints:
    """The four standard annotations; clients decide by them what to ask the person about."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool = True


@frozen(eq=False)
class Tool(Generic[Arguments]):
    """One tool as published and as called.

    `arguments` is the attrs class that the input schema's properties become; `handler` gets an instance of it.
    """

    name: str
    title: str
    description: str
    hints: Hints
    input_schema: JsonSchema = field(repr=False)
    result_schema: JsonSchema = field(repr=False)
    arguments: type[Arguments]
    handler: Callable[[Arguments, ToolCall], Awaitable[dict[str, object]]] = field(repr=False)
    timeout_s: float = CALL_TIMEOUT_S

    @property
    def output_schema(self) -> JsonSchema:
        return envelope(self.result_schema)


AnyTool = Tool[Any]
