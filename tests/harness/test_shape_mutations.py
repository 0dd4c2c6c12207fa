"""The shape function refuses each recording with one slot removed, retyped or nested otherwise (all of them)."""

import json
from typing import Any

import pytest

from harness.shape_mutations import leaves_a_recorded_record, mutations, thinned
from harness.shapes import ANSWER_ROWS, REQUEST_ROWS, Shape, differences, merged, shape_of
from tests.harness.client import body_rows
from tests.shared import SHARED, recording_files

SMALL_BODY = 4_000
"""Of calls that this product does not make yet, and whose rows are therefore not named, the small recordings do."""
STREAM = "GenerateFreeFormStreamed"


def exchanges() -> list[Any]:
    lines = [json.loads(line) for path in recording_files() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "body" in line["response"] and line["response"]["body"].startswith(")]}'")]


def results(line: Any) -> list[Any]:
    values = [json.loads(row[2]) for row in body_rows(line["response"]["body"]) if row[0] == "wrb.fr" and row[2]]
    if line["rpc"] != STREAM or len(values) < 4:
        return values
    # Nineteen cumulative chunks: one of each kind says as much as all of them, and the first cited one differs most.
    return [values[0], values[2], values[3], values[-2], values[-1]]


def unseen(value: Any, reference: Shape, rows: Any) -> list[str]:
    small = thinned(value, rows)
    return [
        f"{mutation.action} {mutation.place}"
        for mutation in mutations(small, rows)
        if not mutation.is_seen_by(reference, rows) and not leaves_a_recorded_record(reference, small, mutation)
    ]


@pytest.mark.parametrize("rpc_id", [rpc_id for rpc_id in ANSWER_ROWS if rpc_id != "khqZz"])
def test_every_mutation_of_a_recorded_answer_is_refused_by_all_recordings_of_its_call_together(rpc_id: str) -> None:
    """`khqZz` was never recorded. The stream's kinds of chunk are kept apart, as the comparison with ours does."""
    rows = ANSWER_ROWS[rpc_id]
    values = [value for line in exchanges() if line["rpc"] == rpc_id for value in results(line)]
    assert values
    for value in values:
        alike = [value] if rpc_id == STREAM else values
        assert unseen(value, merged(shape_of(other, rows) for other in alike), rows) == []


def test_every_mutation_of_every_small_recording_is_refused() -> None:
    lines = [line for line in exchanges() if len(line["response"]["body"]) < SMALL_BODY]
    assert len(lines) > 40
    for line in lines:
        rows = ANSWER_ROWS.get(line["rpc"], frozenset())
        for value in results(line):
            assert unseen(value, shape_of(value, rows), rows) == [], line["recording"]


def test_every_mutation_of_every_recorded_request_is_refused() -> None:
    for line in exchanges():
        params = line["request"]["params"]
        rows = REQUEST_ROWS.get(line["rpc"], frozenset())
        assert unseen(params, shape_of(params, rows), rows) == [], line["recording"]


def test_the_short_way_of_looking_at_the_changed_container_agrees_with_looking_at_the_whole() -> None:
    rows = ANSWER_ROWS["rLM1Ne"]
    path = SHARED / "wire/recorded/rLM1Ne.jsonl"
    value = thinned(results(json.loads(path.read_text(encoding="utf-8").splitlines()[-1]))[0], rows)
    reference = shape_of(value, rows)
    for mutation in mutations(value, rows):
        whole = shape_of(mutation.applied_to(value), rows)
        assert mutation.is_seen_by(reference, rows) == bool(differences(reference, whole)), mutation


def test_leaving_out_an_optional_end_is_the_one_change_that_is_no_drift() -> None:
    value = [[6, 500, 300, 500_000, 2]]
    reference = merged([shape_of(value), shape_of([[6, 500, 300, 500_000]])])
    passed = [m for m in mutations(value, frozenset()) if not m.is_seen_by(reference, frozenset())]
    assert [(m.action, m.place) for m in passed] == [("remove", (0, index)) for index in range(5)]
    assert all(leaves_a_recorded_record(reference, value, mutation) for mutation in passed)


def test_thinning_keeps_one_row_of_each_shape() -> None:
    rows = frozenset({(0,)})
    assert thinned([[[1], [2], [3, "a"], [4]], "x"], rows) == [[[1], [3, "a"]], "x"]
