"""Changing one slot: where, how, and never silently nowhere."""

from typing import Any

import pytest

from harness.emulator.drift import NoSuchSlot, drifted, retyped
from harness.emulator.faults import Drift
from harness.emulator.wire_json import Json

VALUE: list[Json] = ["a", [1, None], {"k": True}]


@pytest.mark.parametrize(
    ("slot", "action", "expected"),
    [
        ([0], "remove", [[1, None], {"k": True}]),
        ([0], "retype", [7, [1, None], {"k": True}]),
        ([1, 0], "retype", ["a", ["drift", None], {"k": True}]),
        ([1], "nest", ["a", [[1, None]], {"k": True}]),
        ([1, 1], "replace", ["a", [1, "new"], {"k": True}]),
        ([2, "k"], "remove", ["a", [1, None], {}]),
        ([2, "k"], "retype", ["a", [1, None], {"k": "drift"}]),
        ([2, "other"], "replace", ["a", [1, None], {"k": True, "other": "new"}]),
    ],
)
def test_exactly_one_slot_changes_in_a_copy(slot: list[int | str], action: Any, expected: Json) -> None:
    assert drifted(VALUE, Drift(slot=slot, action=action, value="new")) == expected
    assert VALUE == ["a", [1, None], {"k": True}]


@pytest.mark.parametrize("slot", [[3], [-1], [0, 0], [1, "k"], [2, 0], [2, "other"], [1, 1, 0]])
def test_a_path_that_leads_nowhere_is_an_error(slot: list[int | str]) -> None:
    with pytest.raises(NoSuchSlot):
        drifted(VALUE, Drift(slot=slot))


@pytest.mark.parametrize("value", ["x", 1, True, None, [], {}])
def test_retyping_gives_another_type(value: Json) -> None:
    assert type(retyped(value)) is not type(value)
