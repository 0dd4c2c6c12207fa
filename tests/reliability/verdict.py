"""How a long run ends: its figures, its troubles, its exit status."""

from __future__ import annotations

from collections import Counter


def say(figures: str, troubles: Counter[str]) -> int:
    """Print both and return the exit status: 1 as soon as there is one trouble."""
    print(figures)
    for trouble, count in troubles.most_common():
        print(f"TROUBLE {count} x {trouble}")
    print(f"\n{sum(troubles.values())} troubles")
    return 1 if troubles else 0
