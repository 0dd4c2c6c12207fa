"""What is known of the worker behind Chrome's port. Pure data."""

from __future__ import annotations

from typing import NamedTuple

from native_host.protocol import V_MAX, V_MIN


class Extension(NamedTuple):
    """What the worker said of itself in `ready`. `account` is the address the person configured there, or None."""

    v_min: int
    v_max: int
    build: str
    extension_id: str
    profile: str
    account: str | None

    @property
    def speaks_our_version(self) -> bool:
        """Whether host and worker have a protocol version in common."""
        return self.v_min <= V_MAX and self.v_max >= V_MIN


class WorkerState:
    """Shared by all connections of one host: there is one worker."""

    def __init__(self) -> None:
        self.extension: Extension | None = None
        self.last_seen_s: float | None = None
        # Invariant: the sum of `calls_in_worker` over all connections.
        self.calls = 0

    def silence_ms(self, now_s: float) -> int | None:
        """Return how long ago the worker gave its last sign of life, or None if it never did."""
        return None if self.last_seen_s is None else round((now_s - self.last_seen_s) * 1000)
