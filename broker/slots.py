"""A strict reader for the service's positional JSON: every refusal names the RPC id and the slot path.

The service writes protobuf messages as lists: field tag n sits at index n-1, trailing empty fields are cut off and
inner ones are null, so a missing index reads as null and no length is ever tested. Tags above 100 come padded to their
index or in one trailing object keyed by the tag number; such an object is let through where nobody reads it (wire
reference, section 0). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

from broker.errors import UpstreamSchemaDrift

_KINDS = ((str, "text"), (int, "a whole number"), (float, "a number"), (list, "a list"), (dict, "an object"))


def as_list(value: object) -> list[object] | None:
    """Return the value when it is a list, else None."""
    return cast("list[object]", value) if isinstance(value, list) else None


class Slot:
    """One list value of an answer and where it stands.

    Readers take an index and check the type; the `maybe_` forms let null (or a missing index) through as None. A path
    is only put together when something is wrong, so reading a large answer stays cheap.

    Raises (all readers): UpstreamSchemaDrift naming the slot, the type that was expected and the type that was seen.
    """

    __slots__ = ("_index", "_parent", "_rpc_id", "_values")

    def __init__(self, value: object, rpc_id: str) -> None:
        """Take a whole decoded payload, which must be a list; its path is ``$``."""
        self._rpc_id = rpc_id
        self._parent: Slot | None = None
        self._index = 0
        if not isinstance(value, list):
            raise UpstreamSchemaDrift(rpc_id, "$", "a list", kind_of(value))
        self._values = cast("list[object]", value)

    @property
    def rpc_id(self) -> str:
        return self._rpc_id

    @property
    def values(self) -> list[object]:
        """Return the list as it came."""
        return self._values

    @property
    def path(self) -> str:
        """Return the slot path, such as ``$[0][1]``."""
        return "$" if self._parent is None else f"{self._parent.path}[{self._index}]"

    def __repr__(self) -> str:
        return f"<Slot {self._rpc_id} {self.path} {len(self._values)} values>"

    def __len__(self) -> int:
        return len(self._values)

    def raw(self, index: int) -> object:
        """Return the untyped value at `index`; None where the list ends earlier."""
        return self._values[index] if index < len(self._values) else None

    def drift(self, index: int | None, expected: str, seen: str | None = None) -> UpstreamSchemaDrift:
        """Build the error for the value at `index`, or for this list itself. The value never enters the message."""
        if index is None:
            return UpstreamSchemaDrift(self._rpc_id, self.path, expected, seen or "")
        return UpstreamSchemaDrift(
            self._rpc_id, f"{self.path}[{index}]", expected, kind_of(self.raw(index)) if seen is None else seen
        )

    def maybe_list(self, index: int) -> Slot | None:
        value = self.raw(index)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.drift(index, "a list or null")
        child = Slot.__new__(Slot)
        child._rpc_id = self._rpc_id
        child._parent = self
        child._index = index
        child._values = cast("list[object]", value)
        return child

    def list_at(self, index: int) -> Slot:
        child = self.maybe_list(index)
        if child is None:
            raise self.drift(index, "a list")
        return child

    def lists(self) -> Iterator[Slot]:
        """Yield every element of this list; each must be a list itself."""
        for index in range(len(self._values)):
            yield self.list_at(index)

    def maybe_text(self, index: int) -> str | None:
        value = self.raw(index)
        if value is None or isinstance(value, str):
            return value
        raise self.drift(index, "text or null")

    def text(self, index: int) -> str:
        value = self.raw(index)
        if isinstance(value, str):
            return value
        raise self.drift(index, "text")

    def maybe_int(self, index: int) -> int | None:
        value = self.raw(index)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self.drift(index, "a whole number or null")

    def int_or_zero(self, index: int) -> int:
        """Read a number whose default, 0, the service may leave out."""
        return self.maybe_int(index) or 0

    def maybe_flag(self, index: int) -> bool | None:
        value = self.raw(index)
        if value is None or isinstance(value, bool):
            return value
        raise self.drift(index, "true, false or null")

    def maybe_number(self, index: int) -> float | None:
        value = self.raw(index)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        raise self.drift(index, "a number or null")


def kind_of(value: object) -> str:
    """Name the JSON type of a value, for messages that must not show the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return next((name for type_, name in _KINDS if isinstance(value, type_)), "something else")


def texts_inside(value: object) -> Iterator[str]:
    """Yield every text inside nested lists, in no order that matters."""
    # A stack instead of recursion: the nesting comes from outside.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        else:
            stack.extend(as_list(item) or ())
