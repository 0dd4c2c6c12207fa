"""A sample of the kill matrix in every run of the tests; the whole of it is `make kill-matrix` (C-025)."""

from __future__ import annotations

import pytest
import trio

from tests.reliability.cells import Verdict, open_matrix
from tests.reliability.points import WRITES, Cell, Hold, Point, Stop, Victim, all_cells
from tests.reliability.report import table

TEXT, NOTE, DELETE, FILE = WRITES

SAMPLE = (
    Cell(TEXT, Stop("after", "begin"), Victim.BROKER),
    Cell(TEXT, Stop("after", "mark_sent", "add"), Victim.BROKER),
    Cell(NOTE, Hold("CYK0Xb", is_effective=True), Victim.BROKER),
    Cell(DELETE, Hold("AH0mwd", is_effective=True), Victim.BROKER),
    Cell(TEXT, Stop("after", "confirm"), Victim.BROKER),
    Cell(FILE, Stop("after", "answer", "upload_slice", 2), Victim.BROKER),
    Cell(NOTE, Stop("after", "prove_step", "create"), Victim.HOST),
    Cell(FILE, Hold("upload.slice", is_effective=False, nth=2), Victim.RENDERER),
    Cell(FILE, Stop("after", "mark_sent", "upload"), Victim.EXTENSION),
    Cell(FILE, Stop("after", "mark_sent", "upload", 2), Victim.BROWSER),
)


@pytest.mark.browser
def test_c025_whatever_is_killed_a_repeat_ends_with_one_item_or_unknown() -> None:
    async def run_sample() -> list[Verdict]:
        async with open_matrix() as run:
            return [await run(cell) for cell in SAMPLE]

    verdicts = trio.run(run_sample)
    assert [verdict for verdict in verdicts if not verdict.reached] == []
    assert [verdict for verdict in verdicts if not verdict.holds] == []


def test_c025_a_kill_before_anything_left_is_in_the_matrix_for_every_write() -> None:
    """The points of the case: before prepared, after it, after sent, in flight, after the answer, after confirmed."""
    for write in WRITES:
        names = [point.name for point in write.points]
        assert names[:2] == ["before begin", "after begin"]
        assert names[-2:] == ["before confirm", "after confirm"]
        assert any("after mark_sent" in name for name in names)
        assert any("held before its effect" in name for name in names)
        assert any("took effect" in name for name in names)
        assert any("after answer" in name for name in names)


def test_every_cell_of_the_sample_is_one_of_the_matrix_and_no_two_have_one_name() -> None:
    names = [cell.name for cell in all_cells()]
    assert len(set(names)) == len(names)
    assert {cell.name for cell in SAMPLE} <= set(names)


@pytest.mark.parametrize("point", [point for write in WRITES for point in write.points if isinstance(point, Stop)])
def test_a_point_survives_the_way_to_the_process_that_stops_there(point: Point) -> None:
    assert isinstance(point, Stop)
    assert Stop.parse(point.as_argument) == point


def test_the_table_shows_what_was_not_run() -> None:
    assert "not run" in table({})


@pytest.mark.parametrize(
    ("outcome", "items", "creates", "holds"),
    [
        ("done", 1, 1, True),
        ("done", 0, 1, False),
        ("done", 2, 1, False),
        ("done", 1, 2, False),
        ("MUTATION_UNKNOWN", 0, 0, True),
        ("MUTATION_UNKNOWN", 1, 1, True),
        ("MUTATION_UNKNOWN", 2, 2, False),
        ("COMPANION_OFFLINE", 0, 0, False),
    ],
)
def test_a_verdict_holds_for_one_item_or_honest_doubt(outcome: str, items: int, creates: int, holds: bool) -> None:
    verdict = Verdict(SAMPLE[0], reached=True, outcome=outcome, items=items, creates=creates, seconds=1.0)
    assert verdict.holds is holds
