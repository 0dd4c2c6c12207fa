"""When silence means that the other side is gone: a policy value that returns its successor. Pure."""

from __future__ import annotations

from attrs import frozen

from native_host.protocol import HEARTBEAT_MISSES


@frozen
class Heartbeat:
    """Counts intervals in a row without a sign of life. Any byte is one: a pong may stand behind a large answer."""

    misses: int = 0

    def after_interval(self, *, is_alive: bool) -> Heartbeat:
        """Return the state after one more interval."""
        return Heartbeat() if is_alive else Heartbeat(self.misses + 1)

    @property
    def is_lost(self) -> bool:
        return self.misses >= HEARTBEAT_MISSES
