"""Finding passages: real matches, in scope only, whole paragraphs, any script."""

from collections.abc import Iterator

import pytest

from harness.emulator.document import Document
from harness.emulator.model import Source
from harness.emulator.retrieval import PASSAGE_UNITS, PassageIndex, search_words, split_passages
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID, default_world

SOURCES = {source.id: source for notebook in default_world().notebooks for source in notebook.sources}
LIGHTHOUSE = [
    source.id for notebook in default_world().notebooks for source in notebook.sources if notebook.id == LIGHTHOUSE_ID
]


@pytest.fixture
def index() -> Iterator[PassageIndex]:
    passages = PassageIndex()
    for source in SOURCES.values():
        passages.add(source)
    yield passages
    passages.close()


def test_passages_are_ranked_and_only_from_the_given_sources(index: PassageIndex) -> None:
    found = index.search(DEMO_QUESTION, LIGHTHOUSE, limit=5)
    assert len(found) == 5
    assert {passage.source_id for passage in found} <= set(LIGHTHOUSE)
    scores = [passage.score for passage in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.5 < score < 1 for score in scores)
    only = index.search(DEMO_QUESTION, [LIGHTHOUSE[2]], limit=5)
    assert {passage.source_id for passage in only} == {LIGHTHOUSE[2]}


def test_every_passage_holds_a_word_of_the_question(index: PassageIndex) -> None:
    for passage in index.search("Why was the mercury drained?", LIGHTHOUSE, limit=10):
        blocks = SOURCES[passage.source_id].document.blocks[passage.first : passage.last]
        assert any(word in block.text.casefold() for block in blocks for word in ("mercury", "drain"))


@pytest.mark.parametrize("question", ["עיוור", "العدسة", "cafe\u0301", "CAFE", "naïve father"])
def test_words_of_any_script_and_accents_are_found(index: PassageIndex, question: str) -> None:
    assert index.search(question, LIGHTHOUSE, limit=3)[0].source_id == LIGHTHOUSE[1]


@pytest.mark.parametrize("question", ["", "?!", "and the of it", "xylophone quartz", '" OR body:*'])
def test_a_question_without_a_match_finds_nothing(index: PassageIndex, question: str) -> None:
    assert index.search(question, LIGHTHOUSE, limit=3) == []


def test_a_source_gives_at_most_the_allowed_number_of_passages(index: PassageIndex) -> None:
    found = index.search("lens", LIGHTHOUSE, limit=20, per_source=1)
    assert len({passage.source_id for passage in found}) == len(found)


def test_a_removed_source_is_not_found_any_more(index: PassageIndex) -> None:
    index.remove(LIGHTHOUSE[3])
    assert index.search("fog", LIGHTHOUSE, limit=3) == []


@pytest.mark.parametrize("source", SOURCES.values(), ids=lambda source: source.id[9:])
def test_passages_cover_a_document_without_gap_or_overlap(source: Source) -> None:
    ranges = list(split_passages(source.document))
    edges = [0, *(last for _, last in ranges)]
    assert [first for first, _ in ranges] == edges[:-1]
    assert edges[-1] == len(source.document.blocks)


def test_a_long_section_is_cut_at_paragraphs() -> None:
    document = Document.parse("\n".join("word " * 40 for _ in range(10)))
    for first, last in split_passages(document):
        assert document.starts[last] - document.starts[first] <= PASSAGE_UNITS


def test_stop_words_and_repeats_are_left_out() -> None:
    assert search_words("Why did the lens stop the LENS, and how?") == ["lens", "stop"]
