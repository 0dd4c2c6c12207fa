import math

from hypothesis import given
from hypothesis import strategies as st

from native_host.heartbeat import Heartbeat
from native_host.protocol import HEARTBEAT_MISSES, HEARTBEAT_S


def heart() -> Heartbeat:
    return Heartbeat(HEARTBEAT_S, HEARTBEAT_MISSES)


def test_a_silent_leg_is_pinged_each_period_and_ends_at_the_second_miss() -> None:
    heartbeat = heart()
    heartbeat.add(1, now_s=0)
    assert heartbeat.next_due_s() == 15
    assert heartbeat.tick(14.9) == ([], [])
    assert heartbeat.tick(15) == ([1], [])
    assert heartbeat.tick(30) == ([1], [])
    assert heartbeat.tick(45) == ([], [1])
    assert heartbeat.next_due_s() is None


def test_any_sign_of_life_clears_the_misses() -> None:
    heartbeat = heart()
    heartbeat.add(1, now_s=0)
    heartbeat.tick(15)
    heartbeat.tick(30)
    heartbeat.heard(1)
    assert heartbeat.tick(45) == ([1], [])
    assert heartbeat.tick(60) == ([1], [])
    assert heartbeat.tick(75) == ([], [1])


def test_legs_are_counted_apart() -> None:
    heartbeat = heart()
    heartbeat.add(0, now_s=0)
    heartbeat.add(1, now_s=5)
    assert heartbeat.tick(15) == ([0], [])
    assert heartbeat.tick(20) == ([1], [])
    heartbeat.heard(0)
    heartbeat.tick(35)
    assert heartbeat.tick(50).ended == [1]
    assert heartbeat.next_due_s() == 50 + 15


def test_a_pause_of_our_own_counts_as_one_miss_at_most() -> None:
    """A suspended or starved machine must not end every leg when it wakes up."""
    heartbeat = heart()
    heartbeat.add(1, now_s=0)
    assert heartbeat.tick(10_000) == ([1], [])
    assert heartbeat.tick(20_000) == ([1], [])


def test_unknown_and_removed_legs_are_ignored() -> None:
    heartbeat = heart()
    heartbeat.heard(9)
    heartbeat.add(1, now_s=0)
    heartbeat.remove(1)
    heartbeat.remove(1)
    heartbeat.heard(1)
    assert heartbeat.tick(100) == ([], [])


@given(st.lists(st.tuples(st.floats(0.1, 40), st.booleans()), max_size=40))
def test_a_leg_that_is_heard_between_any_two_ticks_never_ends_and_the_next_tick_is_always_ahead(
    steps: list[tuple[float, bool]],
) -> None:
    heartbeat = heart()
    now_s = 0.0
    heartbeat.add(1, now_s)
    heartbeat.add(2, now_s)
    for step_s, is_heard in steps:
        now_s += step_s
        heartbeat.heard(1)
        if is_heard:
            heartbeat.heard(2)
        beat = heartbeat.tick(now_s)
        assert 1 not in beat.ended
        assert not set(beat.ping) & set(beat.ended)
        assert (heartbeat.next_due_s() or math.inf) > now_s
