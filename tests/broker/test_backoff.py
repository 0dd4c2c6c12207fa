from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.backoff import Backoff


@given(st.integers(0, 2**32), st.floats(0.01, 5), st.floats(0.01, 60), st.integers(1, 80))
def test_every_wait_lies_between_zero_and_a_ceiling_that_never_passes_the_cap(
    seed: int, base_s: float, cap_s: float, tries: int
) -> None:
    rng, backoff = Random(seed), Backoff(base_s, cap_s)
    for _ in range(tries):
        ceiling_s = backoff.ceiling_s
        wait_s, backoff = backoff.next(rng)
        assert 0 <= wait_s <= ceiling_s <= cap_s
        assert backoff.ceiling_s >= ceiling_s


def test_the_ceiling_doubles_until_the_cap() -> None:
    backoff, ceilings = Backoff(base_s=0.5, cap_s=3), list[float]()
    for _ in range(5):
        ceilings.append(backoff.ceiling_s)
        _, backoff = backoff.next(Random(1))
    assert ceilings == [0.5, 1.0, 2.0, 3, 3]


def test_a_long_outage_does_not_overflow() -> None:
    assert Backoff(tries=100_000).ceiling_s == Backoff().cap_s


def test_brokers_that_lost_one_host_together_do_not_come_back_in_step() -> None:
    waits = {Backoff(tries=4).next(Random(seed))[0] for seed in range(20)}
    assert len(waits) == 20


def test_a_policy_without_a_wait_is_refused() -> None:
    with pytest.raises(ValueError):
        Backoff(base_s=0)
