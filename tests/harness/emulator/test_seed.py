"""The seed holds what the cases need, afresh each time."""

import unicodedata

from harness.emulator.model import SourceState
from harness.emulator.seed import (
    ADA,
    AMBIGUOUS_TITLE,
    DEFAULT_ALLOWED,
    GRACE,
    LIGHTHOUSE_TITLE,
    TRAMS_ID,
    default_world,
)


def test_two_worlds_are_equal_and_share_nothing() -> None:
    one, other = default_world(), default_world()
    assert one == other
    one.notebooks[0].sources[0].title = "changed"
    assert one != other


def test_ids_are_unique_lower_case_uuids() -> None:
    world = default_world()
    ids = [notebook.id for notebook in world.notebooks]
    ids += [source.id for notebook in world.notebooks for source in notebook.sources]
    ids += [source.revision_id for notebook in world.notebooks for source in notebook.sources]
    ids += [note.id for notebook in world.notebooks for note in notebook.notes]
    ids += [chat.conversation_id for chat in world.chats]
    assert len(set(ids)) == len(ids)
    assert all(len(one) == 36 and one == one.lower() for one in ids)


def test_the_seed_has_the_situations_that_cases_ask_for() -> None:
    notebooks = default_world().notebooks
    titles = [notebook.title for notebook in notebooks]
    assert titles.count(AMBIGUOUS_TITLE) == 2
    assert any(char > "\uffff" for char in LIGHTHOUSE_TITLE)
    assert any(not notebook.sources for notebook in notebooks)
    assert max(len(notebook.sources) for notebook in notebooks if notebook.id == TRAMS_ID) > 100
    assert {source.state for notebook in notebooks for source in notebook.sources} == set(SourceState)
    mine = {notebook.id for notebook in notebooks if notebook.role_of(ADA.email)}
    assert set(DEFAULT_ALLOWED) < mine
    assert {notebook.id for notebook in notebooks if notebook.role_of(GRACE.email)} - mine


def test_one_source_has_emoji_sequences_combining_marks_and_right_to_left_text() -> None:
    (text,) = [
        source.text for notebook in default_world().notebooks for source in notebook.sources if "Marta" in source.text
    ]
    assert "👩\u200d👩\u200d👧\u200d👦" in text
    assert any(unicodedata.combining(char) for char in text)
    assert {"R", "AL"} <= {unicodedata.bidirectional(char) for char in text}
    assert unicodedata.normalize("NFC", text) != text
