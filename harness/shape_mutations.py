"""Every small way in which an answer can drift: the test bench of ``shapes`` and of the decoders. Pure.

Exactly these changes count:

- ``remove``: a slot of a record is taken out, so that those after it move up. Any slot counts, a ``null`` one too, as
  long as it is filled or something filled comes after it. (Taking a row out of rows changes contents, not the shape.)
- ``retype``: a text becomes a number; anything else that is not ``null`` becomes a text.
- ``nest``: a value other than ``null`` is wrapped in a list of its own.
- ``unnest``: a non-empty list is replaced by its first filled element.

One of them may be no drift at all, and it is the only exception (``leaves_a_recorded_record``): a removal at the end of
a record, or in a uniform end such as four and then five limits, whose last slot the reference has seen empty.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from attrs import frozen

from harness.shapes import ROW, Kind, Path, Shape, differences, inner, shape_of

Action: TypeAlias = Literal["remove", "retype", "nest", "unnest"]


@frozen
class Mutation:
    action: Action
    place: tuple[int, ...]
    """Where in the value."""
    container: Path
    """The path of what was changed (the list around ``place``, or the whole) with ``*`` for rows."""
    changed: object
    """That container after the change."""

    def applied_to(self, value: object) -> object:
        """Return the whole value with this change, as a copy."""
        if not self.place[:-1]:
            return self.changed
        whole = copy.deepcopy(value)
        parent = cast("list[object]", _get(whole, self.place[:-2]))
        parent[self.place[-2]] = self.changed
        return whole

    def is_seen_by(self, reference: Shape, rows: frozenset[Path]) -> bool:
        """Tell whether the reference refuses the value after this change.

        Looking at the changed container is enough: all the rest is as it was.
        """
        return bool(differences(inner(reference, self.container), shape_of(self.changed, rows, self.container)))


def thinned(value: object, rows: frozenset[Path], path: Path = ()) -> object:
    """Return a copy with one row of each shape, the first: rows of one shape drift alike, and there may be hundreds."""
    if not isinstance(value, list):
        return value
    if path not in rows:
        return [thinned(item, rows, (*path, index)) for index, item in enumerate(cast("list[object]", value))]
    kept: list[object] = []
    seen: list[Shape] = []
    for item in cast("list[object]", value):
        small = thinned(item, rows, (*path, ROW))
        shape = shape_of(small, rows, (*path, ROW))
        if shape not in seen:
            seen.append(shape)
            kept.append(small)
    return kept


def leaves_a_recorded_record(reference: Shape, value: object, mutation: Mutation) -> bool:
    """Tell whether a removal only shortens a record at a uniform end whose last slot the reference has seen empty."""
    if mutation.action != "remove":
        return False
    siblings = list(cast("list[object]", _get(value, mutation.place[:-1])))
    while siblings and siblings[-1] is None:
        siblings.pop()
    tail = siblings[mutation.place[-1] :]
    last = inner(reference, (*mutation.container, len(siblings) - 1))
    return Kind.NULL in last.kinds and all(shape_of(item).kinds == shape_of(tail[0]).kinds for item in tail)


def mutations(value: object, rows: frozenset[Path]) -> Iterator[Mutation]:
    """Yield every mutation of a decoded JSON value."""
    for place, generic in _places(value, rows, (), ()):
        node = _get(value, place)
        if not place:
            yield from (Mutation(action, (), (), changed) for action, changed in _replacements(node))
            continue
        siblings = cast("list[object]", _get(value, place[:-1]))
        index, container = place[-1], generic[:-1]
        if generic[-1] != ROW and any(item is not None for item in siblings[index:]):
            yield Mutation("remove", place, container, siblings[:index] + siblings[index + 1 :])
        for action, changed in _replacements(node):
            yield Mutation(action, place, container, [*siblings[:index], changed, *siblings[index + 1 :]])


def _replacements(node: object) -> Iterator[tuple[Action, object]]:
    if node is None:
        return
    yield "retype", 7 if isinstance(node, str) else "drift"
    yield "nest", [node]
    if isinstance(node, list):
        filled = [item for item in cast("list[object]", node) if item is not None]
        if filled:
            yield "unnest", filled[0]


def _places(
    value: object, rows: frozenset[Path], place: tuple[int, ...], generic: Path
) -> Iterator[tuple[tuple[int, ...], Path]]:
    yield place, generic
    if isinstance(value, list):
        in_rows = generic in rows
        for index, item in enumerate(cast("list[object]", value)):
            yield from _places(item, rows, (*place, index), (*generic, ROW if in_rows else index))


def _get(value: object, place: tuple[int, ...]) -> object:
    for index in place:
        value = cast("list[object]", value)[index]
    return value
