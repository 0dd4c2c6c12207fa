"""Values for the laws of the decoders: any JSON, and recorded answers with one slot damaged."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=30,
)

MAX_PATHS = 400


def list_paths(value: Any) -> list[tuple[int, ...]]:
    """Return the path of every slot, the shallow ones first."""
    found: list[tuple[int, ...]] = []
    level: list[tuple[tuple[int, ...], Any]] = [((), value)]
    while level and len(found) < MAX_PATHS:
        deeper: list[tuple[tuple[int, ...], Any]] = []
        for path, item in level:
            if isinstance(item, list):
                deeper += [((*path, index), child) for index, child in enumerate(item)]
        found += [path for path, _ in deeper]
        level = deeper
    return found


def damaged(value: Any, path: tuple[int, ...], replacement: Any, *, cut: bool) -> Any:
    """Return a copy with one slot replaced, or removed with all behind it (as trailing defaults are)."""
    whole = copy.deepcopy(value)
    holder = whole
    for index in path[:-1]:
        holder = holder[index]
    if cut:
        del holder[path[-1] :]
    else:
        holder[path[-1]] = replacement
    return whole
