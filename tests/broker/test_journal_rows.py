"""The values of the journal: digests that decide whether two writes are the same, and rows as they are read."""

from __future__ import annotations

from broker.journal_rows import StepRecord, fingerprint, payload_hash, record_from, to_json
from broker.journal_states import State


def test_a_payload_is_the_same_in_any_order() -> None:
    assert payload_hash("n", {"title": "a", "text": "b"}) == payload_hash("n", {"text": "b", "title": "a"})


def test_the_notebook_and_every_value_decide_what_a_payload_is() -> None:
    hashes = {
        payload_hash("n", {"title": "a", "text": "b"}),
        payload_hash("m", {"title": "a", "text": "b"}),
        payload_hash("n", {"title": "a", "text": "c"}),
        payload_hash("n", {"title": "ab", "text": ""}),
        payload_hash("n", {"title": "a"}),
    }
    assert len(hashes) == 5


def test_the_parts_of_a_fingerprint_do_not_run_together() -> None:
    assert len({fingerprint("text", "ab", "c"), fingerprint("text", "a", "bc"), fingerprint("texta", "b", "c")}) == 3


def test_content_does_not_show_in_a_representation() -> None:
    from tests.broker.mutation_helpers import request

    shown = repr(request("the key"))
    assert "the key" not in shown
    assert "ada@example.com" in shown


def test_a_row_is_read_with_its_steps_and_claims() -> None:
    record = record_from(
        (7, "ada@example.com", "create_note", "k", "n", "unknown", "", None, to_json({"code": "X"}), "00-t", 1, 2),
        [("create", "confirmed", to_json({"remote_id": "x"})), ("fill", "sent", to_json({"before": ["a", "b"]}))],
        [("x",)],
    )
    assert (record.state, record.result, record.error, record.claims) == (State.UNKNOWN, None, {"code": "X"}, ("x",))
    create, fill = record.steps
    assert (create.remote_id, create.before) == ("x", frozenset())
    assert (fill.remote_id, fill.before) == ("", {"a", "b"})
    assert record.maybe_step("fill") is fill
    assert record.maybe_step("upload") is None
    assert not record.is_settled


def test_a_step_without_facts_knows_nothing() -> None:
    step = StepRecord("create", State.SENT, {"before": None})
    assert (step.remote_id, step.before) == ("", frozenset())
