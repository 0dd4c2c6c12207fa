"""The shape of a JSON answer: which slot holds what kind of value, so that answers compare without contents. Pure.

On this wire everything is a list, so the JSON alone does not say whether a list is a *record* (slot 3 means something
else than slot 4) or *rows* (any number of items of one shape). The caller names the rows by path; ``ANSWER_ROWS`` and
``REQUEST_ROWS`` do so for the calls we know. Every other list is a record.

What is taken as equal, and nothing else (wire reference §0):

- trailing ``null`` slots of a record may be there or not: an absent slot *is* ``null``;
- a record of nothing but ``null`` is the empty list;
- a slot may be of any kind that the reference was seen with; what was filled in every recording has to be filled;
- rows: the items of one list are merged into one shape, so they may differ from each other as recorded items do.

``null`` and ``[]`` are different kinds, a lower-case UUID is another kind than other text, and a slot that no recording
has is a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, TypeAlias, cast

from attrs import field, frozen

Path: TypeAlias = tuple[int | str, ...]
"""Indexes, and ``*`` for the items of rows."""

ROW: Final = "*"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Kind(StrEnum):
    NULL = "null"
    NOTHING = "[]"
    FLAG = "flag"
    NUMBER = "number"
    TEXT = "text"
    UUID = "uuid"
    RECORD = "record"
    ROWS = "rows"
    OBJECT = "object"


@frozen
class Shape:
    """The kinds a value was seen with, and what is inside where it was a list or an object.

    Invariant: ``slots`` is non-empty only with RECORD in ``kinds``; ``item`` is set exactly with ROWS.
    """

    kinds: frozenset[Kind]
    slots: tuple[Shape, ...] = ()
    item: Shape | None = None
    fields: Mapping[str, Shape] = field(factory=dict[str, "Shape"])


ABSENT: Final = Shape(frozenset({Kind.NULL}))


def rows_at(*paths: str) -> frozenset[Path]:
    """Read paths such as ``0.*.1`` (the second slot of each item of the rows in the first slot)."""
    return frozenset(tuple(int(step) if step.isdigit() else step for step in path.split(".")) for path in paths)


_ELEMENTS: Final = ("{0}", "{0}.*.2.0")


def _document(path: str) -> list[str]:
    """Return the rows of a document tree whose elements are at ``path``: the elements and the runs of each."""
    return [template.format(path) for template in _ELEMENTS]


ANSWER_ROWS: Final[dict[str, frozenset[Path]]] = {
    "wXbhsf": rows_at("0", "0.*.1"),
    "rLM1Ne": rows_at("0.1"),
    "hizoJc": rows_at(*_document("3.0.0")),
    "tr032e": rows_at("0.0.2.0"),
    "hPTbtc": rows_at("0"),
    "khqZz": rows_at("0"),
    "izAoDd": rows_at("0"),
    "o4cbdc": rows_at("0", "2", "2.*"),
    "tGMBJ": frozenset(),
    "CYK0Xb": frozenset(),
    "cYAfTb": frozenset(),
    "cFji9": rows_at("0", "0.*.1.2.4"),
    "AH0mwd": frozenset(),
    "GenerateFreeFormStreamed": rows_at(
        *_document("0.4.0.0"),
        "0.4.0.1",
        "0.4.3",
        *_document("0.4.3.*.1.4.0"),
        "1",
        *_document("1.*.4.0"),
        "2",
        "2.*.1",
        "3.0",
        "5.0",
    ),
}
"""For the result of each call (for the stream: the inner value of one chunk), the lists that are rows."""

REQUEST_ROWS: Final[dict[str, frozenset[Path]]] = {"GenerateFreeFormStreamed": rows_at("0")}
"""The same for the parameters of each call; none where a call is not named."""


def shape_of(value: object, rows: frozenset[Path] = frozenset(), path: Path = ()) -> Shape:
    """Describe a decoded JSON value; ``rows`` names the lists of any length."""
    match value:
        case None:
            return ABSENT
        case bool():
            return Shape(frozenset({Kind.FLAG}))
        case int() | float():
            return Shape(frozenset({Kind.NUMBER}))
        case str():
            return Shape(frozenset({Kind.UUID if _UUID.fullmatch(value) else Kind.TEXT}))
        case list():
            return _list_shape(cast("list[object]", value), rows, path)
        case dict():
            members = cast("dict[str, object]", value)
            return Shape(
                frozenset({Kind.OBJECT}),
                fields={key: shape_of(member, rows, (*path, key)) for key, member in members.items()},
            )
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")


def _list_shape(values: list[object], rows: frozenset[Path], path: Path) -> Shape:
    if path in rows:
        if not values:
            return Shape(frozenset({Kind.NOTHING}))
        return Shape(frozenset({Kind.ROWS}), item=merged(shape_of(value, rows, (*path, ROW)) for value in values))
    end = len(values)
    while end and values[end - 1] is None:
        end -= 1
    if not end:
        return Shape(frozenset({Kind.NOTHING}))
    slots = tuple(shape_of(value, rows, (*path, index)) for index, value in enumerate(values[:end]))
    return Shape(frozenset({Kind.RECORD}), slots=slots)


def merged(shapes: Iterable[Shape]) -> Shape:
    """Return the shape that covers all the given ones: the reference made from several recordings.

    Raises:
        ValueError: there is nothing to merge.
    """
    pending = iter(shapes)
    try:
        result = next(pending)
    except StopIteration:
        raise ValueError("no shapes to merge") from None
    for shape in pending:
        result = _merge(result, shape)
    return result


def _merge(one: Shape, other: Shape) -> Shape:
    slots: tuple[Shape, ...] = one.slots or other.slots
    if Kind.RECORD in one.kinds and Kind.RECORD in other.kinds:
        width = max(len(one.slots), len(other.slots))
        slots = tuple(_merge(_slot(one, index), _slot(other, index)) for index in range(width))
    item = one.item or other.item
    if one.item is not None and other.item is not None:
        item = _merge(one.item, other.item)
    names = [*one.fields, *(name for name in other.fields if name not in one.fields)]
    both_objects = Kind.OBJECT in one.kinds and Kind.OBJECT in other.kinds
    absent = ABSENT if both_objects else None
    fields = {name: _merge_field(one.fields.get(name, absent), other.fields.get(name, absent)) for name in names}
    return Shape(one.kinds | other.kinds, slots, item, fields)


def _merge_field(one: Shape | None, other: Shape | None) -> Shape:
    if one is None or other is None:
        present = one or other
        assert present is not None  # the name came from one of the two
        return present
    return _merge(one, other)


def _slot(shape: Shape, index: int) -> Shape:
    return shape.slots[index] if index < len(shape.slots) else ABSENT


def inner(shape: Shape, path: Path) -> Shape:
    """Return the shape at a path of indexes and ``*``; a slot that was never seen is ABSENT."""
    for step in path:
        if step == ROW:
            shape = shape.item or ABSENT
        elif isinstance(step, int):
            shape = _slot(shape, step)
        else:
            shape = shape.fields.get(step, ABSENT)
    return shape


def differences(reference: Shape, observed: Shape) -> list[str]:
    """Return what the observed shape has that the reference was never seen with, one readable line each."""
    return list(_differences(reference, observed, "$"))


def _differences(reference: Shape, observed: Shape, where: str) -> Iterator[str]:
    if unknown := observed.kinds - reference.kinds:
        yield f"{where}: {_names(unknown)}, recorded as {_names(reference.kinds)}"
        return
    if Kind.RECORD in observed.kinds:
        for index in range(max(len(reference.slots), len(observed.slots))):
            if index >= len(reference.slots):
                yield f"{where}[{index}]: {_names(observed.slots[index].kinds)}, never recorded"
                continue
            yield from _differences(reference.slots[index], _slot(observed, index), f"{where}[{index}]")
    if observed.item is not None and reference.item is not None:
        yield from _differences(reference.item, observed.item, f"{where}[*]")
    if Kind.OBJECT in observed.kinds:
        for name in [*reference.fields, *(name for name in observed.fields if name not in reference.fields)]:
            if name not in reference.fields:
                yield f"{where}.{name}: never recorded"
                continue
            yield from _differences(reference.fields[name], observed.fields.get(name, ABSENT), f"{where}.{name}")


def _names(kinds: frozenset[Kind]) -> str:
    return " or ".join(sorted(kind.value for kind in kinds))
