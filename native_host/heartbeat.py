"""When to ping a leg, and when to give it up. Pure: the clock is an argument.

Every leg is pinged once per period. Any frame that arrives is a sign of life, not only a pong. A period without one is
a miss, and enough misses in a row end the leg. However late `tick` is called (a starved machine), it counts one miss
at most: a leg is never given up for a pause of our own.
"""

from __future__ import annotations

from typing import NamedTuple


class Beat(NamedTuple):
    """What has to be done now."""

    ping: list[int]
    ended: list[int]


class _Leg:
    __slots__ = ("due_s", "misses")

    def __init__(self, due_s: float) -> None:
        self.due_s = due_s
        self.misses = 0


class Heartbeat:
    """The legs of one process, by number."""

    def __init__(self, period_s: float, misses_allowed: int) -> None:
        self._period_s = period_s
        self._misses_allowed = misses_allowed
        self._legs: dict[int, _Leg] = {}
        # Invariant: a subset of `_legs`; those that gave a sign of life since their last ping.
        self._heard: set[int] = set()

    def add(self, leg: int, now_s: float) -> None:
        """Watch a new leg. Being there counts as its first sign of life."""
        self._legs[leg] = _Leg(now_s + self._period_s)
        self._heard.add(leg)

    def remove(self, leg: int) -> None:
        """Stop watching a leg; unknown ones are fine."""
        self._legs.pop(leg, None)
        self._heard.discard(leg)

    def heard(self, leg: int) -> None:
        """Note a sign of life; those of unknown legs are ignored."""
        if leg in self._legs:
            self._heard.add(leg)

    def next_due_s(self) -> float | None:
        """Return when `tick` has something to do, or None while nothing is watched."""
        return min((leg.due_s for leg in self._legs.values()), default=None)

    def tick(self, now_s: float) -> Beat:
        """Return the legs to ping and the legs that are over; the latter are watched no longer."""
        beat = Beat([], [])
        for number, leg in self._legs.items():
            if leg.due_s > now_s:
                continue
            leg.misses = 0 if number in self._heard else leg.misses + 1
            if leg.misses >= self._misses_allowed:
                beat.ended.append(number)
                continue
            self._heard.discard(number)
            leg.due_s = now_s + self._period_s
            beat.ping.append(number)
        for number in beat.ended:
            self.remove(number)
        return beat
