from __future__ import annotations

import pytest

from onboarding.keeper_states import TRANSITIONS, KeeperEvent, KeeperState, RefusedTransition, next_state


def test_every_state_but_the_last_can_be_stopped_and_the_last_is_final() -> None:
    for state in KeeperState:
        if state is KeeperState.STOPPING:
            assert not [event for (from_state, event) in TRANSITIONS if from_state is state]
        else:
            assert next_state(state, KeeperEvent.STOP) is KeeperState.STOPPING


def test_every_state_is_reached_from_the_start() -> None:
    reached = {KeeperState.STARTING}
    for _ in KeeperState:
        reached |= {to_state for (from_state, _), to_state in TRANSITIONS.items() if from_state in reached}
    assert reached == set(KeeperState)


def test_a_step_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(RefusedTransition, match="ready while the keeper is up"):
        next_state(KeeperState.UP, KeeperEvent.READY)
