"""What travels with one tool call through all layers: its deadline, its trace, and where its time went."""

from __future__ import annotations

from collections.abc import Mapping

import trio
from attrs import define, evolve, field, frozen


@define
class Admission:
    """Whether the account's request budget has let this call through; see `broker.request_budget`."""

    is_given: bool = False


@frozen
class CallContext:
    """Handed down, never stored. Derived contexts share one `hops` ledger and one admission.

    `deadline` is a point on Trio's clock (seconds), as in `trio.CancelScope.deadline`; `traceparent` is the W3C header.
    """

    deadline: float
    traceparent: str
    hops: dict[str, float] = field(factory=dict[str, float])
    """Milliseconds by hop name, summed over all requests made for this call."""
    admission: Admission = field(factory=Admission)

    @classmethod
    def starting_now(cls, timeout_s: float, traceparent: str) -> CallContext:
        """Make a context whose deadline lies `timeout_s` from now."""
        return cls(deadline=trio.current_time() + timeout_s, traceparent=traceparent)

    def with_deadline(self, deadline: float) -> CallContext:
        """Return a context that ends at `deadline` or when this one does, whichever is earlier."""
        return evolve(self, deadline=min(self.deadline, deadline))

    def with_timeout(self, timeout_s: float) -> CallContext:
        """Return a context that ends in `timeout_s` or when this one does, whichever is earlier."""
        return self.with_deadline(trio.current_time() + timeout_s)

    def detached(self, timeout_s: float) -> CallContext:
        """Return a context for work that outlives this call: the same trace and ledger, `timeout_s` of its own."""
        return evolve(self, deadline=trio.current_time() + timeout_s)

    def remaining_s(self) -> float:
        """Return the seconds left; 0.0 when the deadline has passed."""
        return max(0.0, self.deadline - trio.current_time())

    def add_hops(self, hops: Mapping[str, float]) -> None:
        """Add one request's times to the ledger."""
        for name, ms in hops.items():
            self.hops[name] = self.hops.get(name, 0.0) + ms
