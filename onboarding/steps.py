"""What a step of onboarding is, and how it fails. Pure; the steps themselves stand in `*_steps.py`.

A step has no flag that says "done": `is_done` looks at the world each time, so onboarding can be broken off anywhere,
run again, and run once more on a machine where everything is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from onboarding.run import Run


DOCTOR: Final = "Run: notebook-gateway doctor"
"""The one thing to do where the step itself does not know better."""


class StepId(StrEnum):
    """In the order of the design."""

    BROWSER = "browser"
    HOST = "host"
    SIGN_IN = "sign-in"
    START = "start"
    EXTENSION = "extension"
    PAGE = "page"
    ACCOUNT = "account"
    PORT = "port"
    NOTEBOOKS = "notebooks"
    CLIENT = "client"
    PROOF = "proof"


class StepFailed(Exception):
    """One step cannot be done. `code` is stable (``sign-in.timeout``), `fix` is the one thing to do."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.fix = fix


@attrs.frozen
class Step:
    """One step. Both functions return what proves that it is done; `is_done` returns None when it is not."""

    id: StepId
    title: str
    is_done: Callable[[Run], Awaitable[str | None]]
    act: Callable[[Run], Awaitable[str]]
