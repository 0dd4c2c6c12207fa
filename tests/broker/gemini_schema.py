"""What clients of the Gemini kind make of a tool's schema before a model sees it. Written from observed behaviour.

They keep the words of the API's own schema type and drop the rest at every level; older ones walk into `properties` as
if it were a schema itself, so an argument named like a dropped word is lost.
"""

from __future__ import annotations

from typing import Any, Final, cast

Schema = dict[str, Any]

KEPT: Final = frozenset(
    {
        "type",
        "title",
        "description",
        "enum",
        "format",
        "nullable",
        "properties",
        "required",
        "items",
        "anyOf",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
    }
)
DROPPED_BY_WALKERS: Final = frozenset(
    {"$schema", "$id", "$ref", "$defs", "definitions", "additionalProperties", "default", "const", "examples"}
)


def sanitised(schema: Schema) -> Schema:
    """Return what is left of a schema; a name in `required` without its property, and no type, raise."""
    kept: Schema = {}
    for word, value in schema.items():
        if word == "properties":
            kept[word] = {name: sanitised(member) for name, member in value.items()}
        elif word == "items":
            kept[word] = sanitised(value)
        elif word == "enum":
            kept[word] = [str(choice) for choice in value]
        elif word in KEPT:
            kept[word] = value
    if not isinstance(kept["type"], str):
        raise TypeError(f"type is {kept['type']!r}")
    missing = set(kept.get("required", [])) - set(kept.get("properties", {}))
    if missing:
        raise ValueError(f"required but not there: {missing}")
    return kept


def walked(value: Any) -> Any:
    """Return the JSON value as a walker leaves it that takes every object for a schema."""
    if isinstance(value, list):
        return [walked(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        members = cast("Schema", value)
        return {word: walked(member) for word, member in members.items() if word not in DROPPED_BY_WALKERS}
    return value


def argument_paths(schema: Schema, prefix: str = "") -> dict[str, tuple[str, str]]:
    """Return path → (type, description) of every argument, nested ones too."""
    paths: dict[str, tuple[str, str]] = {}
    for name, member in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        paths[path] = (member["type"], member.get("description", ""))
        inner = member["items"] if member["type"] == "array" else member
        paths |= argument_paths(inner, f"{path}.")
    return paths
