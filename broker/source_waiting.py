"""Waiting until a source that was just added can be asked (C-078, C-079).

That it was added is settled before, so nothing here is an error: running out of time, a service that cannot be asked
now and a source that is gone are answers, and the caller has the id in every case. Looks are spread with full jitter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, Literal, Protocol

import trio
from attrs import field, frozen

from broker.backoff import Backoff
from broker.errors import GatewayError
from broker.notebooks import Source
from broker.readiness import has_failed

POLLING: Final = Backoff(base_s=2.0, cap_s=4.0)
"""The first pause is a second on average, the later ones two: at most about one look per second (C-078)."""
APPEARS_WITHIN_S: Final = 10.0
"""How long a list may not yet know what was just added (C-076 has 2 s). A row that was seen and is missing is gone."""

Kind = Literal["ready", "processing", "failed", "gone"]


class Say(Protocol):
    """Takes a text for the person who waits."""

    async def __call__(self, text: str, /) -> None: ...


@frozen
class Settled:
    """How the wait ended. `source` is the last row seen.

    ``processing`` means that time ran out, or that looking further makes no sense now (`trouble` says why); the source
    may still become ready. ``failed`` is the service's final word.
    """

    kind: Kind
    source: Source | None
    elapsed_s: float
    trouble: GatewayError | None = field(default=None, repr=False)


async def wait_until_settled(
    read_source: Callable[[], Awaitable[Source | None]], *, rng: Random, deadline_s: float, say: Say
) -> Settled:
    """Look at a source until it is ready, failed or gone, or Trio's clock reads `deadline_s`.

    `read_source` gives the source's row, None when the notebook has none.
    """
    started_s = trio.current_time()
    watch = _Watch()
    polling = POLLING
    with trio.move_on_at(deadline_s):
        while True:
            try:
                source = await read_source()
            except GatewayError as error:
                watch.failed_to_look(error)
                if not error.retryable:
                    break
            else:
                elapsed_s = trio.current_time() - started_s
                kind = watch.looked(source, elapsed_s)
                if kind is not None:
                    return Settled(kind, watch.source, elapsed_s)
            await say(f"{watch.state} after {trio.current_time() - started_s:.0f} s")
            pause_s, polling = polling.next(rng)
            await trio.sleep(max(pause_s, watch.asked_pause_s))
    return Settled("processing", watch.source, trio.current_time() - started_s, watch.trouble)


class _Watch:
    """What is known of the source so far."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.trouble: GatewayError | None = None

    @property
    def state(self) -> str:
        if self.trouble is not None:
            return f"cannot be looked at now ({self.trouble.code})"
        if self.source is None:
            return "not listed yet"
        # Not final here: `looked` ends the wait at a failure that is.
        return "being transcribed, or failed" if self.source.state == "failed" else self.source.state

    @property
    def asked_pause_s(self) -> float:
        """How long the service asked to be left alone."""
        asked = None if self.trouble is None else self.trouble.details.get("retry_after_s")
        return float(asked) if isinstance(asked, int | float) else 0.0

    def looked(self, source: Source | None, elapsed_s: float) -> Kind | None:
        """Return how it ended, or None while it has not."""
        self.trouble = None
        if source is None:
            return "gone" if self.source is not None or elapsed_s >= APPEARS_WITHIN_S else None
        self.source = source
        if source.state == "ready":
            return "ready"
        # For audio and video the number means "failed" and "being transcribed": only time can tell (C-079).
        return "failed" if has_failed(source) else None

    def failed_to_look(self, error: GatewayError) -> None:
        self.trouble = error
