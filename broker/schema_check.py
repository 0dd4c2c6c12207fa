"""Check JSON values against the small set of JSON Schema that we publish. Pure.

The set is what every client accepts in a tool schema (docs/tools.md): one `type`, `properties`, `required`,
`additionalProperties: false`, `items`, `enum` of strings, bounds, `pattern`. Any other keyword is refused when the
schema is compiled, so nothing can be published that is not checked.

Compiled to closures because every result is checked on its way out: a page of 50 sources takes the general library
`jsonschema` 4 to 10 ms, more than the whole round trip to the browser. A test plays both against each other.
A schema without `type` admits null besides what its other keywords describe: lists of types are refused by clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from attrs import frozen

Schema = Mapping[str, Any]


@frozen
class Violation:
    """The first thing wrong with a value. `path` is like ``source_ids[0]``; empty for the value itself."""

    path: str
    message: str

    def inside(self, prefix: str) -> Violation:
        """Return the same violation as seen from the surrounding value."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return Violation(f"{prefix}{joint}{self.path}", self.message)

    def __str__(self) -> str:
        return f"{self.path} {self.message}" if self.path else self.message


Check = Callable[[object], Violation | None]


class UnsupportedSchema(ValueError):
    """The schema uses a keyword outside the published set."""


_NOTES: Final = frozenset({"description", "default", "title"})
_NAMES: Final = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def compile_schema(schema: Schema) -> Check:
    """Return the check for one schema.

    Raises:
        UnsupportedSchema: it uses something we do not publish.
    """
    unknown = schema.keys() - _NOTES - _KEYWORDS.keys()
    if unknown:
        raise UnsupportedSchema(f"keywords outside the published set: {sorted(unknown)}")
    # In the table's order: the type first, so that the others meet what they expect.
    checks = tuple(make(schema[keyword], schema) for keyword, make in _KEYWORDS.items() if keyword in schema)
    if len(checks) == 1:
        return checks[0]

    def check_all(value: object) -> Violation | None:
        for check in checks:
            if (violation := check(value)) is not None:
                return violation
        return None

    return check_all


def json_kind(value: object) -> str:
    """Name a value as JSON calls it, for messages; never the value itself, which may be large or private."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"


def _is_type(name: str, value: object) -> bool:
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return is_whole and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _type(name: object, schema: Schema) -> Check:
    if not isinstance(name, str) or name not in _NAMES:
        raise UnsupportedSchema(f"type {name!r}")
    expected = _NAMES[name]
    # Some clients send lists and objects as JSON text (C-014). They are told, never guessed at.
    as_text = f"; pass the {name} itself, not its text" if name in {"array", "object"} else ""

    def check(value: object) -> Violation | None:
        if _is_type(name, value):
            return None
        return Violation("", f"must be {expected}, not {json_kind(value)}{as_text if isinstance(value, str) else ''}")

    return check


def _required(names: object, schema: Schema) -> Check:
    required = tuple(cast("list[str]", names))
    missing = [name for name in required if name not in schema.get("properties", {})]
    if missing:
        raise UnsupportedSchema(f"required names without a property: {missing}")

    def check(value: object) -> Violation | None:
        if isinstance(value, dict):
            for name in required:
                if name not in value:
                    return Violation(name, "is required")
        return None

    return check


def _properties(properties: object, schema: Schema) -> Check:
    checks = {name: compile_schema(sub) for name, sub in cast("Mapping[str, Schema]", properties).items()}
    known = ", ".join(checks) or "none"
    is_closed = "additionalProperties" in schema

    def check(value: object) -> Violation | None:
        if not isinstance(value, dict):
            return None
        for name, item in cast("dict[str, object]", value).items():
            sub_check = checks.get(name)
            if sub_check is not None:
                if (violation := sub_check(item)) is not None:
                    return violation.inside(name)
            elif is_closed:
                return Violation(name[:100], f"is not known here; known: {known}")
        return None

    return check


def _additional_properties(allowed: object, schema: Schema) -> Check:
    if allowed is not False or "properties" not in schema:
        raise UnsupportedSchema("additionalProperties may only be false, and stand beside properties")
    return lambda value: None  # `_properties` does it


def _items(items: object, schema: Schema) -> Check:
    item_check = compile_schema(cast("Schema", items))

    def check(value: object) -> Violation | None:
        if isinstance(value, list):
            for index, item in enumerate(cast("list[object]", value)):
                if (violation := item_check(item)) is not None:
                    return violation.inside(f"[{index}]")
        return None

    return check


def _enum(values: object, schema: Schema) -> Check:
    allowed = cast("list[object]", values)
    if not all(isinstance(value, str) for value in allowed):
        raise UnsupportedSchema("enum holds strings only")
    listed = ", ".join(map(str, allowed))
    return lambda value: None if value in allowed else Violation("", f"must be one of: {listed}")


def _bound(limit: object, text: str, is_kept: Callable[[Any, Any], bool]) -> Check:
    def check(value: object) -> Violation | None:
        if isinstance(value, int | float) and not isinstance(value, bool) and not is_kept(value, limit):
            return Violation("", f"must be {text} {limit}")
        return None

    return check


def _size(limit: object, kind: type, text: str, is_kept: Callable[[Any, Any], bool]) -> Check:
    def check(value: object) -> Violation | None:
        if isinstance(value, kind) and not is_kept(len(cast("str", value)), limit):
            return Violation("", f"has the wrong number of {text.format(limit)}, not {len(cast('str', value))}")
        return None

    return check


def _pattern(pattern: object, schema: Schema) -> Check:
    # In JSON Schema `$` is the very end; in Python it also stands before a line feed there. Ours escape no `$`.
    search = re.compile(cast("str", pattern).replace("$", r"\Z")).search
    wish = schema.get("description", f"a text like {pattern}")

    def check(value: object) -> Violation | None:
        return Violation("", f"has the wrong form: {wish}") if isinstance(value, str) and not search(value) else None

    return check


def _at_least(value: Any, limit: Any) -> bool:
    return value >= limit


def _at_most(value: Any, limit: Any) -> bool:
    return value <= limit


_KEYWORDS: Final[dict[str, Callable[[object, Schema], Check]]] = {
    "type": _type,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "items": _items,
    "enum": _enum,
    "minimum": lambda limit, schema: _bound(limit, "at least", _at_least),
    "maximum": lambda limit, schema: _bound(limit, "at most", _at_most),
    "minLength": lambda limit, schema: _size(limit, str, "characters: at least {}", _at_least),
    "maxLength": lambda limit, schema: _size(limit, str, "characters: at most {}", _at_most),
    "minItems": lambda limit, schema: _size(limit, list, "items: at least {}", _at_least),
    "maxItems": lambda limit, schema: _size(limit, list, "items: at most {}", _at_most),
    "pattern": _pattern,
}
