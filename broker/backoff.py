"""Waiting between tries: exponential, capped, with full jitter. A policy value that returns its successor.

Full jitter (a uniform draw between zero and the current ceiling) keeps several brokers that lost the same host at the
same moment from coming back in step.
"""

from __future__ import annotations

from random import Random

from attrs import evolve, field, frozen, validators


@frozen
class Backoff:
    """`ceiling_s` doubles with every try until `cap_s`."""

    base_s: float = field(default=0.1, validator=validators.gt(0))
    cap_s: float = field(default=2.0, validator=validators.gt(0))
    tries: int = 0

    @property
    def ceiling_s(self) -> float:
        """The longest wait the next try may be given."""
        # 2.0 ** 1024 overflows; by 64 doublings any cap is long reached.
        return min(self.cap_s, self.base_s * 2.0 ** min(self.tries, 64))

    def next(self, rng: Random) -> tuple[float, Backoff]:
        """Return the seconds to wait now, and the policy for the time after that."""
        return rng.uniform(0.0, self.ceiling_s), evolve(self, tries=self.tries + 1)
