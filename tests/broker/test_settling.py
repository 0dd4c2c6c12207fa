"""What the person's verdict stores is what the tool itself would have answered with."""

from __future__ import annotations

import jsonschema
import pytest

from broker.catalog import Tool
from broker.errors import InvalidArgument
from broker.journal_rows import Json, MutationRecord, StepRecord
from broker.journal_states import Event, State
from broker.published import CONTENT_NOTE
from broker.settling import maybe_remote_id, settled_as_done, settled_as_not_done
from broker.tools.add_source import TOOL as ADD_SOURCE
from broker.tools.create_note import TOOL as CREATE_NOTE
from broker.tools.delete_note import TOOL as DELETE_NOTE

OLD, MADE = "2b9e7e00-0001-4a00-8b00-000000000001", "2b9e7e00-0002-4a00-8b00-000000000002"
SENT, CONFIRMED = State.SENT, State.CONFIRMED


def record(tool: str, *steps: tuple[str, State, Json], state: State = State.UNKNOWN) -> MutationRecord:
    made = tuple(StepRecord(*step) for step in steps)
    return MutationRecord(
        id=7,
        account="ada@example.com",
        tool=tool,
        key="k",
        notebook_id="n",
        state=state,
        owner="",
        result=None,
        error=None,
        traceparent="00-t",
        created_at_ms=0,
        updated_at_ms=0,
        steps=made,
        claims=tuple(step.remote_id for step in made if step.state is CONFIRMED and tool != "delete_note"),
    )


LOST_NOTE = record("create_note", ("create", SENT, {"before": [OLD]}))
HALF_NOTE = record("create_note", ("create", CONFIRMED, {"remote_id": MADE}), ("fill", SENT, {"remote_id": MADE}))
LOST_SOURCE = record("add_source", ("add", SENT, {"before": [OLD]}))
HALF_FILE = record("add_source", ("register", CONFIRMED, {"remote_id": MADE}), ("upload", SENT, {"remote_id": MADE}))
LOST_DELETION = record("delete_note", ("delete", SENT, {"remote_id": MADE}))


@pytest.mark.parametrize(
    ("row", "tool", "given"),
    [
        (LOST_NOTE, CREATE_NOTE, MADE),
        (HALF_NOTE, CREATE_NOTE, None),
        (LOST_SOURCE, ADD_SOURCE, MADE),
        (HALF_FILE, ADD_SOURCE, None),
        (LOST_DELETION, DELETE_NOTE, None),
    ],
)
def test_a_replay_of_the_stored_facts_obeys_the_tools_own_schema(
    row: MutationRecord, tool: Tool, given: str | None
) -> None:
    facts = settled_as_done(row, given).outcome
    result = {**facts, "notebook_id": "n", "replayed": True}
    if "content_note" in tool.result_schema["properties"]:
        result["content_note"] = CONTENT_NOTE
    jsonschema.validate(result, tool.result_schema)
    assert MADE in facts.values()


def test_only_what_was_made_is_claimed() -> None:
    """The note that a deletion is about may belong to the row that created it."""
    assert settled_as_done(LOST_NOTE, MADE).claim == MADE
    assert settled_as_done(LOST_DELETION, None).claim is None


@pytest.mark.parametrize(
    ("row", "given", "complaint"),
    [
        (LOST_NOTE, None, "which note_id"),
        (LOST_SOURCE, None, "which source_id"),
        (LOST_NOTE, OLD, "before this write"),
        (LOST_NOTE, OLD.upper(), "before this write"),
        (LOST_NOTE, "7", "not an id"),
        (HALF_NOTE, OLD, f"about {MADE}"),
        (record("rename_note", ("rename", SENT, {})), MADE, "does not know"),
        (record("create_note", state=State.PREPARED), MADE, "nothing of it was sent"),
        (record("create_note", state=State.CONFIRMED), MADE, "confirmed already"),
        (record("create_note", state=State.REJECTED), MADE, "rejected already"),
    ],
)
def test_what_cannot_be_is_refused(row: MutationRecord, given: str | None, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        settled_as_done(row, given)


@pytest.mark.parametrize("row", [LOST_NOTE, record("create_note", state=State.PREPARED), LOST_DELETION])
def test_not_done_is_an_error_that_says_how_to_go_on(row: MutationRecord) -> None:
    verdict = settled_as_not_done(row)
    assert verdict.event is Event.SETTLE_NOT_DONE
    assert verdict.outcome["code"] == "CANCELLED"
    assert "new idempotency_key" in str(verdict.outcome["hint"])
    assert "Nothing was written" in str(verdict.outcome["message"])


def test_not_done_names_what_was_made_on_the_way() -> None:
    message = str(settled_as_not_done(HALF_NOTE).outcome["message"])
    assert MADE in message
    assert "Nothing was written" not in message


def test_a_row_whose_process_died_counts_as_unknown() -> None:
    row = record("create_note", ("create", SENT, {"before": []}), state=State.SENT)
    assert settled_as_done(row, MADE).event is Event.SETTLE_DONE


def test_the_id_is_read_from_the_step_that_makes_the_thing() -> None:
    assert maybe_remote_id(HALF_FILE) == MADE
    assert maybe_remote_id(LOST_NOTE) is None
    assert maybe_remote_id(record("rename_note")) is None
