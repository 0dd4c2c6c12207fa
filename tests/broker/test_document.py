from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from broker.document import MAX_TABLE_DEPTH, OBJECT_REPLACEMENT, document_text, read_passage
from broker.errors import UpstreamSchemaDrift
from broker.slots import Slot, as_list
from broker.utf16 import utf16_length
from tests.broker.wire_values import json_values
from tests.shared import recordings


def paragraph(start: int, *texts: str, **extra: Any) -> list[Any]:
    runs: list[Any] = []
    position = start
    for text in texts:
        runs.append([position, position + utf16_length(text), [text]])
        position += utf16_length(text)
    return [start, position, [runs, [None, 1], None, extra.get("bullet")]]


def table(start: int, rows: list[list[str]]) -> list[Any]:
    wire_rows: list[Any] = []
    position = start
    for row in rows:
        cells: list[Any] = []
        row_start = position
        for text in row:
            cells.append([position, position + utf16_length(text), [paragraph(position, text)]])
            position += utf16_length(text)
        wire_rows.append([row_start, position, cells])
    return [start, position, None, None, [len(rows), len(rows[0]), wire_rows]]


def text_of(*elements: Any) -> str:
    return document_text(Slot(list(elements), "x"))


def test_blocks_are_joined_with_nothing_between_them() -> None:
    assert text_of(paragraph(0, "Überblick ", "😀"), paragraph(12, "zwei")) == "Überblick 😀zwei"


def test_a_document_without_elements_is_empty() -> None:
    assert document_text(None) == ""
    assert text_of() == ""
    assert text_of([0, 0, [[]]], [None, None, None]) == ""


def test_tables_are_read_cell_by_cell() -> None:
    assert text_of(paragraph(0, "a"), table(1, [["b", "c😀"], ["", "d"]]), paragraph(6, "e")) == "abc😀de"


PADDED = [None, None, 0, *[None] * 97, "•", 1, 1, 0]
BY_TAG = [None, None, 0, {"101": "•", "102": 1, "103": 1}]


@pytest.mark.parametrize("bullet", [PADDED, BY_TAG])
def test_both_forms_of_bullets_are_accepted(bullet: list[Any]) -> None:
    assert text_of(paragraph(0, "item", bullet=bullet)) == "item"


def test_an_image_keeps_the_room_it_takes_up() -> None:
    image = [1, 2, None, None, None, [["https://example.com/i.png", 10, 10]]]
    assert text_of(paragraph(0, "a"), image, paragraph(2, "b")) == f"a{OBJECT_REPLACEMENT}b"
    assert text_of(paragraph(0, "a"), [1, 1, None, None, None, ["i"]], paragraph(1, "b")) == "ab"


def test_an_image_of_absurd_size_is_drift() -> None:
    with pytest.raises(UpstreamSchemaDrift):
        text_of([0, 2**62, None, None, None, ["i"]])


def test_a_code_block_is_the_text_that_fits_its_place() -> None:
    code = [1, 9, None, None, None, None, [["print(1)"], "python"]]
    assert text_of(paragraph(0, "a"), code, paragraph(9, "b")) == "aprint(1)b"


@pytest.mark.parametrize("inside", [["print(1)", "cprint()"], ["python"], []])
def test_a_code_block_without_one_fitting_text_is_drift(inside: list[str]) -> None:
    with pytest.raises(UpstreamSchemaDrift, match=r"\$\[0\]\[6\]"):
        text_of([0, 8, None, None, None, None, inside])


@pytest.mark.parametrize(
    "element",
    [
        [1, 4, [[[1, 4, ["abc"]]]]],  # does not start at 0
        [0, 4, [[[0, 3, ["abc"]]]]],  # ends behind its runs
        [0, 3, [[[0, 2, ["abc"]]]]],  # a run that says 2 and has 3
        [0, 3, [[[0, 1, ["a"]], [2, 4, ["bc"]]]]],  # a gap
        [0, 2, [[[0, 1, ["😀"]]]]],  # counted in code points
    ],
)
def test_every_stated_place_is_checked(element: list[Any]) -> None:
    with pytest.raises(UpstreamSchemaDrift, match="offset"):
        text_of(element)


def test_tables_in_tables_have_an_end() -> None:
    elements: list[Any] = []
    for _ in range(MAX_TABLE_DEPTH + 1):
        elements = [[0, 0, None, None, [1, 1, [[0, 0, [[0, 0, elements]]]]]]]
    with pytest.raises(UpstreamSchemaDrift, match="nested"):
        text_of(*elements)


def test_a_passage_keeps_its_own_place() -> None:
    passage = read_passage(Slot([paragraph(100, "a😀"), paragraph(103, "b")], "x"))
    assert (passage.text, passage.start_utf16, passage.end_utf16, passage.fault) == ("a😀b", 100, 104, None)


def test_a_passage_reports_a_faulty_place_instead_of_raising_it() -> None:
    passage = read_passage(Slot([[100, 140, [[[100, 140, ["short"]]]]]], "x"))
    assert (passage.text, passage.start_utf16, passage.end_utf16) == ("short", 100, 140)
    assert passage.fault is not None
    assert "offset 105" in passage.fault.message


def bodies(value: Any) -> list[list[Any]]:
    """Find every list of elements: lists of ``[start, end, …]`` whose paragraph or table slot is a list."""
    found: list[list[Any]] = []
    items = as_list(value)
    if items is None:
        return found
    first = as_list(items[0]) if items else None
    if first and len(first) >= 3 and type(first[0]) is int and type(first[1]) is int and is_element(first):
        return [items]
    for item in items:
        found += bodies(item)
    return found


def is_element(row: list[Any]) -> bool:
    content = as_list(row[2]) if row[2] is not None else as_list(row[4] if len(row) > 4 else None)
    return content is not None and (not content or as_list(content[0]) is not None or type(content[0]) is int)


def test_every_recorded_document_is_whole() -> None:
    """Source texts, answers, passages, reports and tables: all places of all recorded trees hold."""
    count = 0
    for rpc_id, folder in (("hizoJc", ""), ("GenerateFreeFormStreamed", "stream"), ("gArtLc", ""), ("rc3d8d", "")):
        for entry in recordings(rpc_id, folder):
            for line in entry["response"]["body"].split("\n"):
                for row in json.loads(line) if line.startswith('[["wrb.fr"') else []:
                    for elements in bodies(json.loads(row[2])):
                        passage = read_passage(Slot(elements, rpc_id))
                        assert passage.fault is None, passage.fault
                        assert utf16_length(passage.text) == passage.end_utf16 - passage.start_utf16
                        count += 1
    assert count > 100


@given(json_values)
def test_any_value_is_a_document_or_drift(value: object) -> None:
    try:
        slot = Slot([value], "x")
        text = document_text(slot)
    except UpstreamSchemaDrift:
        return
    assert isinstance(text, str)
