"""Does an answer come up to what a scenario expects? Pure."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from harness.scenario import Expectation

MAX_SHOWN_CHARS: Final = 300
MISSING: Final = object()


def problems_of(envelope: dict[str, Any], expect: Expectation) -> list[str]:
    """Return one sentence per expectation that `envelope` does not meet."""
    if envelope.get("ok") is True:
        if expect.error is not None:
            return [f"expected {expect.error}, but the call succeeded: {_shown(envelope.get('result'))}"]
        return _in(envelope.get("result"), expect)
    error: dict[str, Any] = envelope.get("error") or {}
    if expect.error is None:
        return [f"expected success, got {error.get('code')}: {error.get('message')} (hint: {error.get('hint')})"]
    if error.get("code") != expect.error:
        return [f"expected {expect.error}, got {error.get('code')}: {error.get('message')}"]
    return _in(error, expect)


def _in(value: object, expect: Expectation) -> list[str]:
    problems: list[str] = []
    for path, wanted in expect.values.items():
        found = at_path(value, path)
        # In JSON a truth value is no number, in Python it is one.
        if found is MISSING or found != wanted or isinstance(found, bool) is not isinstance(wanted, bool):
            problems.append(f"{path}: expected {_shown(wanted)}, found {_shown(found)}")
    for path, part in expect.contains.items():
        found = at_path(value, path)
        if not isinstance(found, str) or part not in found:
            problems.append(f"{path}: expected a text with {part!r}, found {_shown(found)}")
    return problems


def at_path(value: object, path: str) -> object:
    """Return what is at a path such as ``sources.0.title``, or `MISSING`."""
    for name in path.split("."):
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(name, MISSING)
        elif isinstance(value, list) and name.isdecimal():
            items = cast("list[object]", value)
            value = items[int(name)] if int(name) < len(items) else MISSING
        else:
            return MISSING
    return value


def _shown(value: object) -> str:
    if value is MISSING:
        return "nothing there"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
