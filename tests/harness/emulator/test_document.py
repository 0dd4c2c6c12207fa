"""Document trees: offsets, styles, list items, and the Markdown they are made from."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.emulator.document import Block, Document, Run, merge_runs, parse_runs
from harness.emulator.seed import default_world
from harness.emulator.wire_json import utf16_length


def runs_of(elements: Any) -> list[Any]:
    return [run for element in elements for run in element[2][0]]


def assert_offsets(document: Document) -> None:
    """Runs and blocks are contiguous from 0, and each run is as long as it says, in UTF-16 units."""
    position = 0
    for element in document.elements():
        assert element[0] == position  # type: ignore[index]
        for start, end, (text, *_) in element[2][0]:  # type: ignore[index]
            assert (start, end) == (position, position + utf16_length(text))
            position = end
        assert element[1] == position  # type: ignore[index]
    assert position == utf16_length(document.text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_offsets_of_any_text_are_contiguous_utf16_positions(text: str) -> None:
    assert_offsets(Document.parse(text))


def test_offsets_of_every_seeded_source_are_contiguous() -> None:
    for notebook in default_world().notebooks:
        for source in notebook.sources:
            assert_offsets(source.document)


def test_marks_become_styles_and_leave_the_text() -> None:
    document = Document.parse("A **bold** and a `code` and [a link](https://x.example/).")
    assert document.text == "A bold and a code and a link."
    styles = [run[2][1] for run in runs_of(document.elements()) if len(run[2]) > 1]
    assert styles == [[True], [*[None] * 7, True], [None, None, None, "https://x.example/"]]


def test_list_items_of_a_source_carry_their_number_and_those_of_an_answer_a_bullet() -> None:
    """Both as recorded: `hizoJc` has "1", 1, 1, 1 and no level, the stream "•", 1, 1, 0 and level 0."""
    document = Document.parse("- one\n- two")
    source: Any = document.elements()[1]
    answer: Any = document.elements(answer=True)[1]
    assert (source[2][3][2], source[2][3][100:]) == (None, ["2", 1, 2, 2])
    assert (answer[2][3][2], answer[2][3][100:]) == (0, ["•", 1, 2, 1])


def test_numbering_of_list_items_starts_again_after_a_paragraph() -> None:
    document = Document.parse("- one\n- two\n\nbetween\n\n- again")
    assert [block.ordinal for block in document.blocks] == [0, 1, None, 0]


def test_headings_have_the_recorded_styles_and_answers_no_normal_style() -> None:
    elements: Any = Document.parse("# A\n## B\n### C\nd").elements()
    assert [element[2][1] for element in elements] == [[None, 4], [None, 5], [None, 6], [None, 1]]
    assert Document.parse("d").elements(answer=True) == [[0, 1, [[[0, 1, ["d"]]]]]]


def test_a_slice_keeps_the_offsets_of_the_whole() -> None:
    document = Document((Block((Run("😀"),)), Block((Run("b"),))))
    assert document.elements(1, 2) == [[2, 3, [[[2, 3, ["b"]]], [None, 1]]]]


def test_neighbouring_runs_of_one_style_are_one_run() -> None:
    assert merge_runs([Run("a"), Run(""), Run("b"), Run("c", bold=True)]) == (Run("ab"), Run("c", bold=True))
    assert parse_runs("plain") == (Run("plain"),)
