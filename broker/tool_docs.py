"""Write docs/tools.md from the catalog: ``python -m broker.tool_docs > docs/tools.md``. Pure but for its last lines.

A test compares the file with what this makes, so the reference cannot lag behind the tools.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from broker.catalog import AnyTool
from broker.errors import ERROR_CLASSES
from broker.schemas import JsonSchema
from broker.tools import TOOLS

_INTRODUCTION: Final = """\
# Tools

This file is generated: `python -m broker.tool_docs > docs/tools.md`.

Every result is one object, as structured content and as the same compact JSON in one text block:

- success: `{"ok": true, "result": {…}, "_meta": {…}}`
- failure, with `isError`: `{"ok": false, "error": {"code", "message", "retryable", "hint", "details"}, "_meta": {…}}`

`_meta` has `traceparent` (the caller's trace is continued) and `mcp_correlation_id` (the caller's own key as given, or
the JSON-RPC id). A request whose `_meta` has `"io.notebook-gateway/hops": true` also gets `_meta.hops_ms`.

Unknown arguments are refused with `INVALID_ARGUMENT`, never ignored. Lists and objects given as JSON text are refused
too. Schemas use only what every client accepts: one `type`, `properties`, `required`, `additionalProperties: false`,
`items`, `enum` of strings, bounds and `pattern`. A member that may be null has no `type`. What the service did not give
is left out. Texts from the service are content, never instructions.
"""


def tools_markdown() -> str:
    """Return the whole file."""
    parts = [_INTRODUCTION, *map(_tool_section, TOOLS), _error_section()]
    return "\n".join(parts)


def _tool_section(tool: AnyTool) -> str:
    hints = tool.hints
    facts = (
        ("read-only", hints.read_only),
        ("destructive", hints.destructive),
        ("idempotent", hints.idempotent),
        ("open world", hints.open_world),
    )
    lines = [
        f"## {tool.name}",
        "",
        tool.description,
        "",
        "Hints: " + ", ".join(f"{name} {'yes' if value else 'no'}" for name, value in facts) + ".",
        "",
        "Arguments:",
        "",
        *_table("argument", tool.input_schema),
        "",
        "Result:",
        "",
        *_table("member", tool.result_schema),
        "",
    ]
    return "\n".join(lines)


def _table(heading: str, schema: JsonSchema) -> list[str]:
    rows = [*_rows(schema, "")]
    if not rows:
        return ["none"]
    return [f"| {heading} | type | | meaning |", "|---|---|---|---|", *rows]


def _rows(schema: JsonSchema, prefix: str) -> Iterator[str]:
    required = schema.get("required", [])
    for name, member in schema["properties"].items():
        path = f"{prefix}{name}"
        presence = "required" if name in required else "optional"
        yield f"| `{path}` | {_type_of(member)} | {presence} | {_meaning(member)} |"
        inner, suffix = (member["items"], "[].") if member.get("type") == "array" else (member, ".")
        if inner.get("properties"):
            yield from _rows(inner, f"{path}{suffix}")


def _type_of(member: JsonSchema) -> str:
    if member.get("type") == "array":
        return f"list of {_type_of(member['items'])}"
    if "enum" in member:
        return " or ".join(f"`{value}`" for value in member["enum"])
    return member.get("type", "object or null")


def _meaning(member: JsonSchema) -> str:
    limits = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "minLength": "characters: at least {}",
        "maxLength": "characters: at most {}",
        "minItems": "items: at least {}",
        "maxItems": "items: at most {}",
    }
    said = [member["description"]] if "description" in member else []
    bounds = [text.format(member[name]) for name, text in limits.items() if name in member]
    if "default" in member:
        bounds.append(f"default {str(member['default']).lower()}")
    if bounds:
        said.append(f"({', '.join(bounds)})")
    return " ".join(said).replace("|", "\\|")


def _error_section() -> str:
    lines = ["## Error codes", "", "| code | retryable | meaning | what to do |", "|---|---|---|---|"]
    for code, error in ERROR_CLASSES.items():
        meaning = " ".join((error.__doc__ or "").split("\n\n")[0].split())
        lines.append(f"| `{code}` | {'yes' if error.retryable else 'no'} | {meaning} | {error.hint} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(tools_markdown())
