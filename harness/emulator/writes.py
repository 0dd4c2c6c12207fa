"""What all calls that change something share: the call itself, and an answer that takes time. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import field, frozen

from harness.emulator.model import Account, Reading
from harness.emulator.state import ServiceState
from harness.emulator.wire_json import Json


@frozen
class Write:
    """One call that may change the state. ``reading`` is how the source that it adds will be read."""

    state: ServiceState
    account: Account
    params: list[Json]
    reading: Reading = field(factory=Reading)


@frozen
class Waiting:
    """The change is made; the answer is put together after ``seconds``, from the state as it is then."""

    seconds: float
    result: Callable[[], Json]


Writer: TypeAlias = "Callable[[Write], Json | Waiting]"
