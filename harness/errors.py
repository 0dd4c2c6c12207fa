"""What can go wrong while the chain comes up: one error that names the hop."""

from __future__ import annotations


class ChainFailed(Exception):
    """A hop of the chain did not come up. `hop` is its name; the message says what was seen and what to do next."""

    def __init__(self, hop: str, message: str) -> None:
        super().__init__(f"{hop}: {message}")
        self.hop = hop
