"""Drafts and their three forms: Markdown, document and spans say the same, in every version that is sent."""

import re

import pytest

from harness.emulator.answers import (
    NOTHING_FOUND,
    CitedPassage,
    DraftBlock,
    compose,
    follow_ups,
    growth,
    render,
    thinking_notes,
    without_citations,
)
from harness.emulator.retrieval import PassageIndex
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, default_world


def passages(question: str = DEMO_QUESTION, limit: int = 5) -> list[CitedPassage]:
    (notebook,) = [notebook for notebook in default_world().notebooks if notebook.id == LIGHTHOUSE_ID]
    by_id = {source.id: source for source in notebook.sources}
    index = PassageIndex()
    for source in notebook.sources:
        index.add(source)
    found = index.search(question, by_id, limit=limit)
    index.close()
    return [CitedPassage(by_id[passage.source_id], passage) for passage in found]


def sliced(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def test_every_claim_but_the_closing_one_is_a_sentence_of_its_passage() -> None:
    cited = passages()
    answer = render(compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, cited))
    assert len(answer.spans) == len(cited) + 1
    for span in answer.spans[:-1]:
        (index,) = span.citations
        assert sliced(answer.document.text, span.start, span.end) in cited[index].text
    assert answer.spans[-1].citations == (0, len(cited) - 1)


def test_the_demo_answer_cites_the_source_with_emoji_accents_and_right_to_left_text() -> None:
    answer = render(compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, passages()))
    quoted = [sliced(answer.document.text, span.start, span.end) for span in answer.spans]
    assert any("👑" in text and "nai\u0308ve" in text and "עיוור" in text for text in quoted)
    first = answer.spans[0]
    assert "🗼" in sliced(answer.document.text, 0, first.start)  # so that UTF-16 and code points differ before any span


def test_markdown_without_its_marks_is_the_document_text() -> None:
    answer = render(compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, passages()))
    stripped = re.sub(r" \[\d+(, \d+)*\]|\*\*|`|^\*   |\n", "", answer.markdown, flags=re.M)
    assert stripped == answer.document.text


def test_each_span_ends_where_its_marker_stands() -> None:
    answer = render(compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, passages()))
    markers = [
        tuple(int(number) - 1 for number in found.split(", "))
        for found in re.findall(r"\[([\d, ]+)\]", answer.markdown)
    ]
    assert markers == [span.citations for span in answer.spans]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_versions_grow_but_for_one_and_end_with_the_whole(limit: int) -> None:
    """Case C-063: `[1]` becomes `[1, 2]`, so the new text does not begin with the old one."""
    draft = compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, passages(limit=limit))
    texts = [render(version).markdown for version in growth(draft)]
    assert texts[-1] == render(draft).markdown
    breaks = [index for index in range(1, len(texts)) if not texts[index].startswith(texts[index - 1])]
    assert breaks == [len(texts) - 1]


def test_the_list_of_citations_only_grows() -> None:
    counts = [render(version).citation_count for version in growth(compose(DEMO_QUESTION, "T", passages()))]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 5)


def test_without_passages_the_answer_says_so_and_cites_nothing() -> None:
    draft = compose("xylophone?", LIGHTHOUSE_TITLE, [])
    assert draft == (DraftBlock(draft[0].pieces),)
    answer = render(draft)
    assert (answer.markdown, answer.spans, answer.citation_count) == (NOTHING_FOUND, (), 0)
    assert [render(version).markdown for version in growth(draft)] == [NOTHING_FOUND]


def test_taking_citations_away_leaves_the_text() -> None:
    draft = compose(DEMO_QUESTION, LIGHTHOUSE_TITLE, passages())
    bare = render(without_citations(draft))
    assert bare.document == render(draft).document
    assert bare.spans == ()
    assert "[1]" not in bare.markdown


def test_thinking_notes_and_follow_ups_name_the_sources() -> None:
    cited = passages(limit=2)
    assert cited[0].source.title in thinking_notes(DEMO_QUESTION, cited)[1][1]
    assert len(follow_ups(LIGHTHOUSE_TITLE, cited)) == len(follow_ups(LIGHTHOUSE_TITLE, [])) == 3
