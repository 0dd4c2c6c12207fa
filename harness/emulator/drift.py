"""Changing one slot of an answer, so that a decoder can be seen to notice. Pure."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from harness.emulator.faults import Drift
from harness.emulator.wire_json import Json


class NoSuchSlot(LookupError):
    """The answer has no slot at that path, so the drift would change nothing."""


def drifted(value: Json, drift: Drift) -> Json:
    """Return a copy of ``value`` with the one slot changed.

    Raises:
        NoSuchSlot: the path leads nowhere.
    """
    result = copy.deepcopy(value)
    parent = _walk(result, drift.slot[:-1], drift.slot)
    last = drift.slot[-1]
    match parent, last:
        case list(), int() if 0 <= last < len(parent):
            if drift.action == "remove":
                del parent[last]
            else:
                parent[last] = _changed(parent[last], drift)
        case dict(), str() if last in parent or drift.action == "replace":
            if drift.action == "remove":
                del parent[last]
            else:
                parent[last] = _changed(parent.get(last), drift)
        case _:
            raise NoSuchSlot(f"no slot {drift.slot} in this answer")
    return result


def _walk(value: Json, path: Sequence[int | str], whole: Sequence[int | str]) -> Json:
    for step in path:
        match value, step:
            case list(), int() if 0 <= step < len(value):
                value = value[step]
            case dict(), str() if step in value:
                value = value[step]
            case _:
                raise NoSuchSlot(f"no slot {list(whole)} in this answer")
    return value


def _changed(value: Json, drift: Drift) -> Json:
    if drift.action == "replace":
        return drift.value
    if drift.action == "nest":
        return [value]
    return retyped(value)


def retyped(value: Json) -> Json:
    """Return a value of another type: text becomes a number, everything else a text."""
    return 7 if isinstance(value, str) else "drift"
