"""Ask again until the answer is yes: for things outside this process that announce nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio

POLL_S: Final = 0.005

T = TypeVar("T")


async def until(ask: Callable[[], Awaitable[T | None]], *, poll_s: float = POLL_S) -> T:
    """Return the first true answer of `ask`, asked again every `poll_s`; the caller owns the deadline."""
    while True:
        answer = await ask()
        if answer:
            return answer
        await trio.sleep(poll_s)
