"""The one converter that turns checked JSON arguments into attrs classes.

cattrs is imported at the first use: `serve` must answer `initialize` without waiting for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from broker.errors import InvalidArgument

if TYPE_CHECKING:
    from cattrs import Converter

Arguments = TypeVar("Arguments")


@cache
def converter() -> Converter:
    """Return the process's converter. An unknown key is an error, never ignored (ADR-003, ADR-020)."""
    from cattrs import Converter

    return Converter(forbid_extra_keys=True)


def structure_arguments(arguments: Mapping[str, object], cls: type[Arguments]) -> Arguments:
    """Return `arguments` as an instance of `cls`.

    The published schema has been checked before, so a failure here means that class and schema disagree; it is still
    answered as the caller's mistake, and a test compares the two.

    Raises:
        InvalidArgument: unknown keys or wrong types.
    """
    from cattrs import BaseValidationError, transform_error

    try:
        return converter().structure(arguments, cls)
    except BaseValidationError as error:
        raise InvalidArgument("; ".join(transform_error(error, path="arguments"))) from error
