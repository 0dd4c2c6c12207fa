"""What load and cycles call trouble, and three real cycles; the long runs are `make load`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.reliability.cycles import run_cycles
from tests.reliability.load import Report, judge
from tests.reliability.processes import Size

SMALL = Size(70_000, 12, 1)


def report(**changes: object) -> Report:
    good = Report(
        idle_median_ms=10.0,
        small_ms=[20.0] * 200,
        calls_flat_out=Counter({0: 90, 1: 100}),
        brokers_first=[SMALL],
        brokers_last=[SMALL],
        host_first=[SMALL],
        host_last=[SMALL],
    )
    for name, value in changes.items():
        setattr(good, name, value)
    judge(good)
    return good


def test_a_load_that_was_held_is_no_trouble() -> None:
    assert report().troubles == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"errors": Counter({"TIMEOUT": 1})}, "TIMEOUT"),
        ({"small_ms": [20.0] * 190 + [51.0] * 10}, "5.1 times its idle median"),
        ({"calls_flat_out": Counter({0: 49, 1: 100})}, "0.49 of the best"),
        ({"brokers_last": [Size(110_000, 12, 1)]}, "grew from 70000 to 110000 KiB"),
        ({"host_last": [Size(70_000, 17, 1)]}, "from 12 to 17 descriptors"),
    ],
)
def test_each_bar_that_is_missed_is_named(changes: dict[str, object], named: str) -> None:
    (trouble,) = report(**changes).troubles
    assert named in trouble


@pytest.mark.browser
async def test_starts_and_ends_of_serve_leave_nothing() -> None:
    ended = await run_cycles(3)
    assert ended.troubles == []
    assert ended.count == 3
