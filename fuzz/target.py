"""What a target is, and all of them by name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from typing import Final

from attrs import frozen

from fuzz import targets

NAMES: Final = tuple(sorted(module.name for module in pkgutil.iter_modules(targets.__path__)))


@frozen
class Target:
    """`one_input` raises for bytes that break `invariant`; `seeds` are inputs from the field."""

    name: str
    invariant: str
    one_input: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]


def load(name: str) -> Target:
    """Import the target; what it fuzzes is imported with it. Raises: KeyError for a name that is none."""
    if name not in NAMES:
        raise KeyError(name)
    module = importlib.import_module(f"fuzz.targets.{name}")
    invariant = (inspect.getdoc(module) or "").partition("\n\n")[0]
    return Target(name, invariant, module.one_input, module.seeds)
