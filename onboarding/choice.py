"""Which notebooks are allowed, as ids or ``"*"``: comparing two such choices, and saying them in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from onboarding.run import Notebooks, Options

EVERYTHING: Final = "*"


def wanted_notebooks(options: Options) -> Notebooks | None:
    """Return what the command line asks for, None where it asks for nothing."""
    return EVERYTHING if options.allow_all else list(options.notebooks) or None


def notebooks_in(settings: Mapping[str, object]) -> Notebooks:
    """Return what the extension's settings allow; nothing for a form that we do not know."""
    theirs = settings.get("notebooks")
    if theirs == EVERYTHING:
        return EVERYTHING
    return [str(each) for each in cast("list[object]", theirs)] if isinstance(theirs, list) else []


def is_same(one: Notebooks, other: Notebooks) -> bool:
    """Whether two choices allow the same; the order of ids means nothing."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return sorted(one) == sorted(other)


def covers(allowed: Notebooks, wanted: Notebooks) -> bool:
    """Whether `allowed` allows all that is `wanted`."""
    return allowed == EVERYTHING or (wanted != EVERYTHING and set(wanted) <= set(allowed))


def in_words(allowed: Notebooks) -> str:
    """Say how much is allowed."""
    if allowed == EVERYTHING:
        return "all notebooks are allowed"
    return f"{len(allowed)} notebook{'' if len(allowed) == 1 else 's'} allowed"
