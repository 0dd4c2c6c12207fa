from itertools import product

import pytest
import trio
import trio.testing

from broker.errors import NotFound, SessionLocked, SessionUnlocked
from broker.session_lock import TRANSITIONS, LockedNotebook, LockEvent, LockState, SessionLock, WrongTransition

PLAN = LockedNotebook("1a2b3c4d-0001-4a00-8b00-00000000000a", "Plan")
ROBOTS = LockedNotebook("1a2b3c4d-0002-4a00-8b00-00000000000b", "Robots")


async def select(lock: SessionLock, notebook: LockedNotebook) -> tuple[LockedNotebook, bool]:
    async def resolve() -> LockedNotebook:
        await trio.testing.wait_all_tasks_blocked()
        return notebook

    return await lock.select(lambda locked: locked == notebook, resolve)


def test_the_table_is_what_the_design_says():
    """ADR-011: there is no way back."""
    assert {(state, event): target for state, row in TRANSITIONS.items() for event, target in row.items()} == {
        (LockState.DISCOVERY_ONLY, LockEvent.SELECT): LockState.SELECTING,
        (LockState.SELECTING, LockEvent.CONFIRMED): LockState.ACTIVE_DISPATCH,
        (LockState.SELECTING, LockEvent.REFUSED): LockState.DISCOVERY_ONLY,
    }


@pytest.mark.parametrize(("state", "event"), [*product(LockState, LockEvent)])
def test_a_missing_pair_is_a_mistake_of_ours(state: LockState, event: LockEvent):
    lock = SessionLock()
    lock._state = state
    lock._notebook = PLAN if LockState.ACTIVE_DISPATCH in (state, TRANSITIONS[state].get(event)) else None
    if event in TRANSITIONS[state]:
        lock._move(event)
        assert lock.state is TRANSITIONS[state][event]
    else:
        with pytest.raises(WrongTransition):
            lock._move(event)


async def test_before_a_selection_nothing_is_locked():
    lock = SessionLock()
    assert repr(lock) == "<SessionLock DISCOVERY_ONLY>"
    with pytest.raises(SessionUnlocked):
        lock.require_notebook()


async def test_selecting_locks_and_the_same_again_succeeds():
    lock = SessionLock()
    assert await select(lock, PLAN) == (PLAN, True)
    assert repr(lock) == f"<SessionLock ACTIVE_DISPATCH notebook={PLAN.id}>"
    assert await select(lock, PLAN) == (PLAN, False)
    assert lock.require_notebook() == PLAN


async def test_c022_another_notebook_is_refused_with_the_locked_title():
    lock = SessionLock()
    await select(lock, PLAN)
    with pytest.raises(SessionLocked, match="'Plan'"):
        await select(lock, ROBOTS)
    assert lock.notebook == PLAN


async def test_a_failed_resolution_leaves_the_session_as_it_was():
    lock = SessionLock()

    async def resolve() -> LockedNotebook:
        raise NotFound("no such notebook")

    with pytest.raises(NotFound):
        await lock.select(lambda locked: False, resolve)
    assert lock.state is LockState.DISCOVERY_ONLY
    assert await select(lock, PLAN) == (PLAN, True)


async def test_a_cancelled_resolution_leaves_the_session_as_it_was():
    lock = SessionLock()
    with trio.CancelScope() as scope:

        async def resolve() -> LockedNotebook:
            assert lock.state is LockState.SELECTING
            scope.cancel()
            await trio.sleep_forever()
            raise AssertionError("unreachable")

        await lock.select(lambda locked: False, resolve)
    assert scope.cancelled_caught
    assert lock.state is LockState.DISCOVERY_ONLY
    assert await select(lock, PLAN) == (PLAN, True)


async def test_of_two_agents_that_select_at_once_one_wins_and_the_other_is_told():
    """ADR-012, M-01: resolving and locking are one step."""
    lock = SessionLock()
    won: list[LockedNotebook] = []
    lost: list[SessionLocked] = []

    async def agent(notebook: LockedNotebook) -> None:
        try:
            won.append((await select(lock, notebook))[0])
        except SessionLocked as error:
            lost.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent, PLAN)
        nursery.start_soon(agent, ROBOTS)
        await trio.testing.wait_all_tasks_blocked()
        assert lock.state in (LockState.SELECTING, LockState.ACTIVE_DISPATCH)
    assert len(won) == len(lost) == 1
    assert lock.notebook == won[0]
