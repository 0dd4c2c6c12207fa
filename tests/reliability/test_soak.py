"""What the soak counts and calls trouble; the soak itself is `make soak`, and two minutes of it end `make test`."""

from __future__ import annotations

import pytest

from tests.reliability.processes import Size
from tests.reliability.soak import Report, memory_slope_kib_per_min, table
from tests.reliability.soak_faults import FAULTS

LIFE_OF_THE_BROWSER = {
    *("worker stopped", "extension reloaded", "native host killed", "tab closed", "tab reloaded"),
    *("tab led to another site", "renderer killed", "tab frozen", "machine asleep", "signed out and in again"),
}


def test_the_faults_are_those_of_the_life_of_the_browser_and_of_the_service() -> None:
    assert set(FAULTS) >= LIFE_OF_THE_BROWSER
    assert set(FAULTS) - LIFE_OF_THE_BROWSER == {"service answers 429", "service answers 500", "answer stream cut"}


def test_the_slope_of_memory_is_that_of_the_line_behind_the_warm_up() -> None:
    grows = [(60.0 * minute, Size(1000 + 50 * minute, 10, 1)) for minute in range(10)]
    assert memory_slope_kib_per_min(grows) == pytest.approx(50.0)
    warm_up = [(0.0, Size(1, 10, 1)), (60.0, Size(500, 10, 1))]
    stays = [(60.0 * minute, Size(1000, 10, 1)) for minute in range(2, 10)]
    assert memory_slope_kib_per_min(warm_up + stays) == pytest.approx(0.0)
    assert memory_slope_kib_per_min([]) == 0.0


def test_the_table_shows_median_and_worst_recovery_of_each_fault() -> None:
    report = Report(seconds=60.0, sizes=[(0.0, Size(2048, 10, 1)), (60.0, Size(4096, 11, 2))])
    report.recoveries_s["tab closed"] = [3.0, 1.0, 2.0]
    assert "| tab closed | 3 | 2.0 s | 3.0 s |" in table(report)
