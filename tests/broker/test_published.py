from datetime import UTC, datetime, timedelta, timezone

import pytest

from broker.notebooks import Notebook, Source
from broker.published import (
    MAX_SHOWN_TITLE_CHARS,
    NOTEBOOK_FACTS,
    SOURCE_SCHEMA,
    STATE_COUNTS_SCHEMA,
    notebook_facts,
    shown_title,
    source_row,
    state_counts,
)
from broker.schema_check import compile_schema
from broker.schemas import closed_object

WHEN = datetime(2026, 1, 21, 3, 54, 12, 500, tzinfo=timezone(timedelta(hours=1)))
READY = Source("s1", "One", "pdf", 3, "ready", 2, 9, WHEN, "https://a.example/", "r1")
BARE = Source("s2", None, "unknown", None, "unknown", None)
FULL = Notebook("n1", "Plan", "🗼", "owner", True, WHEN, WHEN.astimezone(UTC), (READY, BARE, READY))
EMPTY = Notebook("n2", None, None, "unknown", None, None, None, ())


@pytest.mark.parametrize("notebook", [FULL, EMPTY])
def test_facts_conform_to_their_schema(notebook: Notebook):
    assert compile_schema(closed_object(NOTEBOOK_FACTS, required=("id", "title")))(notebook_facts(notebook)) is None
    assert compile_schema(STATE_COUNTS_SCHEMA)(state_counts(notebook)) is None
    assert all(compile_schema(SOURCE_SCHEMA)(source_row(source)) is None for source in notebook.sources)


def test_times_are_utc_to_the_second():
    assert notebook_facts(FULL)["created_at"] == "2026-01-21T02:54:12Z"
    assert source_row(READY)["created_at"] == "2026-01-21T02:54:12Z"


def test_c018_what_the_service_did_not_give_is_left_out_and_titles_are_empty():
    assert notebook_facts(EMPTY) == {"id": "n2", "title": "", "role": "unknown", "source_count": 0}
    assert source_row(BARE) == {"id": "s2", "title": "", "kind": "unknown", "state": "unknown"}


def test_states_are_counted():
    assert state_counts(FULL) == {"ready": 2, "unknown": 1}


def test_a_very_long_title_is_cut_visibly():
    shown = shown_title("x" * 5000)
    assert len(shown) == MAX_SHOWN_TITLE_CHARS
    assert shown.endswith("…")
