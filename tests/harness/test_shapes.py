"""Shapes: what is equal, what is not, and that the comparison says where."""

import pytest

from harness.shapes import ANSWER_ROWS, differences, inner, merged, rows_at, shape_of


def compare(reference: object, observed: object, *rows: str) -> list[str]:
    named = rows_at(*rows)
    return differences(shape_of(reference, named), shape_of(observed, named))


def test_trailing_nulls_are_nothing_on_either_side() -> None:
    assert compare([1, None, None], [2]) == []
    assert compare([1], [2, None]) == []


def test_a_null_in_the_middle_is_a_slot() -> None:
    assert compare([1, None, "a"], [1, "a"]) == ["$[1]: text, recorded as null", "$[2]: null, recorded as text"]


def test_a_record_of_nulls_is_the_empty_list_and_not_null() -> None:
    assert compare([[None, None]], [[]]) == []
    assert compare([[]], [None, 1]) == ["$[0]: null, recorded as []", "$[1]: number, never recorded"]


def test_a_slot_that_was_always_filled_has_to_be_filled() -> None:
    assert compare([1, "a"], [1]) == ["$[1]: null, recorded as text"]


def test_a_flag_is_not_a_number_and_an_id_is_not_any_text() -> None:
    assert compare([True], [1]) == ["$[0]: number, recorded as flag"]
    assert compare(["1a9e7e00-0001-4a00-8b00-000000000001"], ["title"]) == ["$[0]: text, recorded as uuid"]


def test_rows_may_be_any_number_but_each_has_to_be_of_a_recorded_kind() -> None:
    assert compare([[1], [2, "x"]], [[3]] * 5, "") == compare([[1], [2, "x"]], [[3]] * 5)
    assert compare([[[1], [2, "x"]]], [[[3]] * 5], "0") == []
    assert compare([[[1], [2, "x"]]], [[[3], 4]], "0") == ["$[0][*]: number, recorded as record"]


def test_empty_rows_were_only_seen_if_they_were_recorded() -> None:
    assert compare([[[1]]], [[]], "0") == ["$[0]: [], recorded as rows"]


def test_objects_are_compared_by_key() -> None:
    assert compare({"101": "x", "102": 1}, {"101": "y"}) == ["$.102: null, recorded as number"]
    assert compare({"101": "x"}, {"101": "y", "103": 1}) == ["$.103: never recorded"]


def test_a_reference_of_several_recordings_allows_what_any_of_them_had() -> None:
    reference = merged([shape_of([1, None, [1]]), shape_of([1, "a"])])
    assert differences(reference, shape_of([2, "b", [3]])) == []
    assert differences(reference, shape_of([2, 3])) == ["$[1]: number, recorded as null or text"]


def test_nothing_to_merge_is_an_error() -> None:
    with pytest.raises(ValueError, match="no shapes"):
        merged([])


def test_only_json_has_a_shape() -> None:
    with pytest.raises(TypeError, match="tuple is not a JSON value"):
        shape_of((1, 2))


def test_inner_follows_slots_and_rows() -> None:
    rows = rows_at("0")
    shape = shape_of([[[1, "a"]]], rows)
    assert inner(shape, (0, "*", 1)) == shape_of("a")
    assert inner(shape, (0, "*", 7)) == shape_of(None)


def test_document_rows_are_named_for_every_tree_of_the_stream() -> None:
    assert (1, "*", 4, 0, "*", 2, 0) in ANSWER_ROWS["GenerateFreeFormStreamed"]
