"""What the soak counts and calls trouble; the soak itself is `make soak`, and two minutes of it end `make test`."""

from __future__ import annotations

from collections import Counter

import pytest

from broker.errors import ErrorCode
from tests.reliability.processes import Size
from tests.reliability.soak_faults import FAULTS
from tests.reliability.soak_report import Report, memory_slope_kib_per_min, table

LIFE_OF_THE_BROWSER = {
    *("worker stopped", "extension reloaded", "native host killed", "tab closed", "tab reloaded"),
    *("tab led to another site", "renderer killed", "tab frozen", "machine asleep", "signed out and in again"),
}


def test_the_faults_are_those_of_the_life_of_the_browser_and_of_the_service() -> None:
    assert set(FAULTS) >= LIFE_OF_THE_BROWSER
    assert set(FAULTS) - LIFE_OF_THE_BROWSER == {"service answers 429", "service answers 500", "answer stream cut"}


def test_every_fault_names_codes_of_the_taxonomy_and_none_is_our_own_mistake() -> None:
    for fault in FAULTS.values():
        assert fault.codes
        assert fault.codes <= set(ErrorCode) - {ErrorCode.INTERNAL, ErrorCode.UPSTREAM_SCHEMA_DRIFT}


@pytest.mark.parametrize(
    ("faults", "code", "is_trouble"),
    [
        ([], "TAB_DISCARDED", True),
        (["tab closed"], "TAB_DISCARDED", False),
        (["tab closed"], "AUTH_REQUIRED", True),
        (["tab closed", "answer stream cut"], "TAB_DISCARDED", False),
        (["tab closed", "answer stream cut", "service answers 429"], "TAB_DISCARDED", True),
        (["machine asleep"], "INTERNAL", True),
    ],
)
def test_an_error_is_trouble_unless_one_of_the_last_two_faults_explains_it(
    faults: list[str], code: str, is_trouble: bool
) -> None:
    report = Report(3, recent=faults)
    report.add_error("list_sources", code, "text")
    assert bool(report.troubles) is is_trouble
    assert report.errors == {faults[-1] if faults else "nothing": Counter({code: 1})}


@pytest.mark.parametrize(
    ("said", "times", "is_trouble"),
    [
        ("done", 1, False),
        ("done", 0, True),
        ("done", 2, True),
        ("rejected", 0, False),
        ("rejected", 1, True),
        ("unknown", 0, False),
        ("unknown", 1, False),
        ("unknown", 2, True),
        ("begun", 2, True),
    ],
)
def test_each_write_has_to_be_there_as_often_as_was_said(said: str, times: int, is_trouble: bool) -> None:
    report = Report(3, writes={"a": said})
    report.check_writes(Counter({"a": times}))
    assert bool(report.troubles) is is_trouble


@pytest.mark.parametrize(
    ("last", "named"),
    [(Size(1501, 10, 1), "memory"), (Size(1000, 15, 1), "descriptors"), (Size(1000, 10, 6), "threads")],
)
def test_a_broker_that_grew_is_trouble(last: Size, named: str) -> None:
    report = Report(3, sizes=[(0.0, Size(1000, 10, 1)), (60.0, Size(1000, 10, 1)), (120.0, last)])
    report.check_growth()
    (trouble,) = report.troubles
    assert named in trouble


def test_the_slope_of_memory_is_that_of_the_line_behind_the_warm_up() -> None:
    grows = [(60.0 * minute, Size(1000 + 50 * minute, 10, 1)) for minute in range(10)]
    assert memory_slope_kib_per_min(grows) == pytest.approx(50.0)
    warm_up = [(0.0, Size(1, 10, 1)), (60.0, Size(500, 10, 1))]
    stays = [(60.0 * minute, Size(1000, 10, 1)) for minute in range(2, 10)]
    assert memory_slope_kib_per_min(warm_up + stays) == pytest.approx(0.0)
    assert memory_slope_kib_per_min([]) == 0.0


def test_the_table_shows_recoveries_and_how_calls_ended_for_each_fault() -> None:
    report = Report(3, seconds=60.0, sizes=[(0.0, Size(2048, 10, 1)), (60.0, Size(4096, 11, 2))])
    report.recoveries_s["tab closed"] = [3.0, 1.0, 2.0]
    report.recent.append("tab closed")
    report.add_error("list_sources", "TAB_DISCARDED", "text")
    assert "| tab closed | 3 | 2.0 s | 3.0 s | TAB_DISCARDED 1 |" in table(report)
