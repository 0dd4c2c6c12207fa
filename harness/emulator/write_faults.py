"""Faults of the calls that change something: answers lost on either side of the change, and slow or bad reading.

Part of the table in ``faults``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
from attrs import field, frozen

from harness.emulator.fault_checks import integer, number, one_of, states
from harness.emulator.model import Reading, SourceState

_LONGEST_S: Final = 3600


@frozen(kw_only=True)
class CommitThenDrop:
    """The change is made, then the connection ends without an answer, or (``stall``) goes silent.

    ``bare``: it ends without a single byte, which makes Chromium send the request again by itself (see ``severing``).
    """

    stall: bool = field(default=False, validator=one_of(True, False))
    bare: bool = field(default=False, validator=one_of(True, False))


@frozen(kw_only=True)
class DropThenCommit:
    """The connection ends at once without an answer; the change is made ``delay_ms`` later."""

    delay_ms: float = field(validator=number(0, 3_600_000))


@frozen(kw_only=True)
class SlowIngest:
    """Reading the new source takes ``seconds`` (null: it never ends), in state 1 or, as ``state`` says, 5."""

    seconds: float | None = field(validator=attrs.validators.optional(number(0, _LONGEST_S)))
    state: int = field(default=1, validator=integer(0, 99))


@frozen(kw_only=True)
class FailIngest:
    """Reading the new source ends in state 3, with the number of the ``reason`` or without one."""

    reason: int | None = field(default=7, validator=attrs.validators.optional(integer(0, 9999)))
    seconds: float | None = field(default=None, validator=attrs.validators.optional(number(0, _LONGEST_S)))


@frozen(kw_only=True)
class IngestStates:
    """The state that each look at the notebook finds the new source in; the last one stays, null is no row at all."""

    states: list[int | None] = field(validator=states)


def reading_of(effects: Iterable[object]) -> Reading:
    """Return how the source that a call adds will be read."""
    for effect in effects:
        match effect:
            case SlowIngest():
                return Reading(effect.seconds, never_ends=effect.seconds is None, meanwhile=effect.state)
            case FailIngest():
                return Reading(effect.seconds, outcome=SourceState.ERROR, reason=effect.reason)
            case IngestStates():
                return Reading(script=tuple(effect.states))
            case _:
                pass
    return Reading()
