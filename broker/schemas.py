"""The building blocks of published schemas: only what every MCP client accepts (docs/tools.md). Pure data.

No combinators, no references, no lists of types, strings only in enums, `properties` on every object. A value that may
be null has no `type`; a value that may be missing is not required.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from broker.errors import ErrorCode
from broker.schema_check import Schema

JsonSchema = dict[str, Any]

UUID_PATTERN: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"


def text(description: str = "", **limits: object) -> JsonSchema:
    """A string; `limits` are minLength, maxLength, pattern, enum or default."""
    return _described({"type": "string", **limits}, description)


def whole_number(description: str = "", **limits: object) -> JsonSchema:
    return _described({"type": "integer", **limits}, description)


def number(description: str = "", **limits: object) -> JsonSchema:
    return _described({"type": "number", **limits}, description)


def flag(description: str = "", **limits: object) -> JsonSchema:
    return _described({"type": "boolean", **limits}, description)


def list_of(items: Schema, description: str = "", **limits: object) -> JsonSchema:
    return _described({"type": "array", "items": items, **limits}, description)


def closed_object(
    properties: dict[str, JsonSchema], *, required: Sequence[str] = (), description: str = ""
) -> JsonSchema:
    """An object with these properties and no others."""
    schema: JsonSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return _described({**schema, "additionalProperties": False}, description)


def open_object(description: str) -> JsonSchema:
    """An object whose members are not fixed."""
    return {"type": "object", "properties": {}, "description": description}


def or_null(schema: JsonSchema) -> JsonSchema:
    """The same object, or null: lists of types are refused by some clients, so the type is left out."""
    return {key: value for key, value in schema.items() if key != "type"}


def _described(schema: JsonSchema, description: str) -> JsonSchema:
    return {**schema, "description": description} if description else schema


HOP_NAMES: Final = ("total_ms", "relay_ms", "worker_ms", "tab_ms", "page_ms", "fetch_ms")

META: Final = closed_object(
    {
        "traceparent": text("W3C trace context of this call."),
        "mcp_correlation_id": text("The caller's own key, else the JSON-RPC id."),
        "hops_ms": closed_object(
            {name: number() for name in HOP_NAMES}, description="Milliseconds per hop, on request."
        ),
    },
    required=("traceparent", "mcp_correlation_id"),
)

ERROR: Final = closed_object(
    {
        "code": text(enum=[str(code) for code in ErrorCode]),
        "message": text("What happened, for people."),
        "retryable": flag("Whether the same call can succeed later."),
        "hint": text("What to do next."),
        "details": open_object("Facts that belong to the code."),
    },
    required=("code", "message", "retryable"),
    description="Only when ok is false.",
)


def envelope(result: JsonSchema) -> JsonSchema:
    """The output schema of a tool: one object that admits its success and every failure.

    Clients validate structured content of failures too, and hide an error that the schema does not admit.
    """
    return closed_object(
        {"ok": flag(), "result": {**result, "description": "Only when ok is true."}, "error": ERROR, "_meta": META},
        required=("ok", "_meta"),
    )
