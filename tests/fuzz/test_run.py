"""What the runner makes of libFuzzer's last words; the texts are those of its documentation and of a run by hand."""

from __future__ import annotations

from fuzz.__main__ import read_output

STATISTICS = b"""#2048 pulse cov: 41 ft: 120 corp: 12/300b lim: 4096 exec/s: 900 rss: 55Mb
#4096 pulse cov: 43 ft: 130 corp: 13/310b lim: 4096 exec/s: 900 rss: 55Mb
Done 5000 runs in 5 second(s)
stat::number_of_executed_units: 5000
stat::average_exec_per_sec:     1000
stat::slowest_unit_time_sec:    2
"""


def test_a_clean_run_says_what_it_did() -> None:
    ran = read_output("framing", 9, 0, STATISTICS)
    assert (ran.executions, ran.covered_edges, ran.slowest_s, ran.trouble) == (5000, 43, 2, "")


def test_a_broken_invariant_is_trouble_and_its_traceback_is_shown() -> None:
    crash = b" === Uncaught Python exception: ===\nAssertionError\n"
    ran = read_output("framing", 9, 77, crash + STATISTICS)
    assert "status 77" in ran.trouble
    assert "Uncaught Python exception" in ran.trouble


def test_a_run_that_tried_nothing_beyond_its_seeds_is_trouble() -> None:
    assert read_output("framing", 9, 0, b"").trouble
    assert read_output("framing", 5000, 0, STATISTICS).trouble
