"""The journal's statements on a real file: who gets a row, a lease and a remote id, and what is kept (ADR-005)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from broker.errors import InvalidArgument
from broker.journal_faults import ClaimTaken
from broker.journal_rows import Found
from broker.journal_states import Event, State, WrongTransition
from broker.journal_store import KEEP_SETTLED_DAYS, JournalStore
from tests.broker.journal_helpers import Brokers, begin, row_of
from tests.broker.mutation_helpers import NOTEBOOK, request

DAY_MS = 24 * 3600 * 1000
RESULT: dict[str, object] = {"made": "x"}
ERROR: dict[str, object] = {"code": "RATE_LIMITED", "message": "a quota"}


@pytest.fixture
def brokers(tmp_path: Path) -> Generator[Brokers]:
    brokers = Brokers(tmp_path / "journal.sqlite")
    with brokers.opened:
        yield brokers


# ---------------------------------------------------------------------------------------------------- who has a row
def test_a_new_request_gets_a_row_of_its_own(brokers: Brokers) -> None:
    begun = brokers.open("one").begin(request("k"))
    assert begun.found is Found.OURS
    assert (begun.record.state, begun.record.owner, begun.record.key) == (State.PREPARED, "one", "k")
    assert (begun.record.steps, begun.record.claims, begun.record.result) == ((), (), None)


def test_keys_are_apart_per_tool_and_account(brokers: Brokers) -> None:
    store = brokers.open("one")
    assert begin(store, tool="a") != begin(store, tool="b")


def test_a_living_brokers_row_is_elsewhere(brokers: Brokers) -> None:
    row = begin(brokers.open("one"))
    begun = brokers.open("two").begin(request())
    assert (begun.found, begun.record.id, begun.record.owner) == (Found.ELSEWHERE, row, "one")


def test_a_dead_brokers_prepared_row_is_taken_over_as_it_is(brokers: Brokers) -> None:
    begin(brokers.open("one"))
    brokers.dead.add("one")
    begun = brokers.open("two").begin(request())
    assert (begun.found, begun.record.state, begun.record.owner) == (Found.OURS, State.PREPARED, "two")


def test_c025_a_dead_brokers_sent_row_is_taken_over_as_unknown(brokers: Brokers) -> None:
    one = brokers.open("one")
    one.mark_sent(begin(one), "create", {"before": ["a"]})
    brokers.dead.add("one")
    begun = brokers.open("two").begin(request())
    assert (begun.found, begun.record.state, begun.record.owner) == (Found.OURS, State.UNKNOWN, "two")
    step = begun.record.maybe_step("create")
    assert step is not None
    assert step.before == {"a"}


def test_our_own_sent_row_that_nobody_works_on_any_more_is_unknown(brokers: Brokers) -> None:
    """Its run could not write down how it ended."""
    store = brokers.open("one")
    store.mark_sent(begin(store), "create", {})
    assert store.begin(request()).record.state is State.UNKNOWN


def test_a_row_that_was_let_go_belongs_to_whoever_asks(brokers: Brokers) -> None:
    one = brokers.open("one")
    one.let_go(begin(one))
    assert brokers.open("two").begin(request()).found is Found.OURS


def test_an_unknown_row_belongs_to_whoever_asks(brokers: Brokers) -> None:
    one = brokers.open("one")
    row = begin(one)
    one.mark_sent(row, "create", {})
    assert one.lose(row, ERROR).owner == ""
    begun = brokers.open("two").begin(request())
    assert (begun.found, begun.record.state, begun.record.error) == (Found.OURS, State.UNKNOWN, ERROR)


@pytest.mark.parametrize("settle", ["confirm", "reject"])
def test_a_settled_row_answers_everybody_and_keeps_its_outcome(brokers: Brokers, settle: str) -> None:
    one = brokers.open("one")
    row = begin(one)
    one.mark_sent(row, "create", {})
    settled = one.confirm(row, RESULT) if settle == "confirm" else one.reject(row, ERROR)
    begun = brokers.open("two").begin(request())
    assert (begun.found, begun.record) == (Found.SETTLED, settled)
    assert begun.record.result == (RESULT if settle == "confirm" else None)
    assert begun.record.error == (None if settle == "confirm" else ERROR)


@pytest.mark.parametrize("is_settled", [False, True])
def test_another_payload_is_told_whatever_the_row_is(brokers: Brokers, is_settled: bool) -> None:
    store = brokers.open("one")
    row = begin(store)
    if is_settled:
        store.mark_sent(row, "create", {})
        store.confirm(row, RESULT)
    assert brokers.open("two").begin(request(name="other")).found is Found.OTHER_PAYLOAD
    assert brokers.open("two").begin(request(notebook_id=NOTEBOOK[:-1] + "b")).found is Found.OTHER_PAYLOAD


def test_a_key_counts_as_begun_when_something_was_sent(brokers: Brokers) -> None:
    store = brokers.open("one")
    assert not store.is_begun(request())
    row = begin(store)
    assert not store.is_begun(request())
    store.mark_sent(row, "create", {})
    assert store.is_begun(request())
    store.take_back(row, "create")
    assert not store.is_begun(request())


# ---------------------------------------------------------------------------------------------------- moves
def test_a_repeated_mark_replaces_the_facts_of_its_step(brokers: Brokers) -> None:
    """An upload writes down each start, and that it is about to finish."""
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "upload", {"upload": "up-1"})
    record = store.mark_sent(row, "upload", {"upload": "up-1", "finalize_sent": True})
    assert [step.facts for step in record.steps] == [{"upload": "up-1", "finalize_sent": True}]


def test_a_request_that_never_started_is_forgotten_with_its_lease(brokers: Brokers) -> None:
    one, two = brokers.open("one"), brokers.open("two")
    row = begin(one)
    assert one.try_lease(row, "note")
    one.mark_sent(row, "create", {"before": []})
    record = one.take_back(row, "create")
    assert (record.state, record.steps, record.owner) == (State.PREPARED, (), "one")
    assert two.try_lease(begin(two, "other"), "note")


MOVES: dict[str, Callable[[JournalStore, int], object]] = {
    "mark_sent": lambda store, row: store.mark_sent(row, "create", {}),
    "take_back": lambda store, row: store.take_back(row, "create"),
    "confirm": lambda store, row: store.confirm(row, {"made": "again"}),
    "reject": lambda store, row: store.reject(row, ERROR),
    "lose": lambda store, row: store.lose(row, ERROR),
    "settle": lambda store, row: store.settle(row, Event.SETTLE_DONE, RESULT),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("settle", ["confirm", "reject"])
def test_nothing_moves_a_settled_row(brokers: Brokers, move: str, settle: str) -> None:
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "create", {})
    settled = store.confirm(row, RESULT) if settle == "confirm" else store.reject(row, ERROR)
    with pytest.raises(WrongTransition):
        MOVES[move](store, row)
    assert row_of(store, row) == settled


def test_a_result_takes_the_place_of_an_earlier_error(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "create", {})
    store.lose(row, ERROR)
    record = store.confirm(row, RESULT)
    assert (record.result, record.error) == (RESULT, None)


def test_a_move_that_fails_changes_nothing(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store)
    with pytest.raises(WrongTransition):
        store.confirm(row, RESULT)
    assert row_of(store, row).state is State.PREPARED
    with pytest.raises(TypeError):
        store.mark_sent(row, "create", {"before": {1, 2}})  # a set is no JSON
    assert (row_of(store, row).state, row_of(store, row).steps) == (State.PREPARED, ())


def test_the_lists_from_before_sending_go_with_the_settlement(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "register", {"before": ["a"] * 300})
    store.prove_step(row, "register", {"remote_id": "x", "before": ["a"]}, "x")
    store.mark_sent(row, "upload", {"remote_id": "x", "starts": 1})
    store.lose(row, ERROR)
    assert row_of(store, row).maybe_step("register").before == {"a"}  # pyright: ignore[reportOptionalMemberAccess]
    record = store.confirm(row, RESULT)
    assert {step.name: step.facts for step in record.steps} == {
        "register": {"remote_id": "x"},
        "upload": {"remote_id": "x", "starts": 1},
    }


# ---------------------------------------------------------------------------------------------------- claims
def test_a_remote_id_is_claimed_once(brokers: Brokers) -> None:
    one, two = brokers.open("one"), brokers.open("two")
    first, second = begin(one, "first"), begin(two, "second")
    one.mark_sent(first, "create", {})
    two.mark_sent(second, "create", {})
    one.prove_step(first, "create", {"remote_id": "x"}, "x")
    before = row_of(two, second)
    with pytest.raises(ClaimTaken):
        two.prove_step(second, "create", {"remote_id": "x"}, "x")
    assert row_of(two, second) == before
    assert two.claimed_among("ada@example.com", ["x", "y"]) == {"x"}


def test_a_write_may_claim_its_own_id_again(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "create", {})
    for _ in range(2):
        assert store.prove_step(row, "create", {"remote_id": "x"}, "x").claims == ("x",)


def test_claims_are_apart_per_account(brokers: Brokers) -> None:
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "create", {})
    store.prove_step(row, "create", {}, "x")
    assert store.claimed_among("grace@example.com", ["x"]) == frozenset()


# ---------------------------------------------------------------------------------------------------- leases
def test_a_lease_is_held_by_one_living_broker(brokers: Brokers) -> None:
    one, two = brokers.open("one"), brokers.open("two")
    first, second = begin(one, "first"), begin(two, "second")
    assert one.try_lease(first, "note")
    assert one.try_lease(first, "note")
    assert not two.try_lease(second, "note")
    brokers.dead.add("one")
    assert two.try_lease(second, "note")


def test_leases_are_apart_per_kind_and_notebook(brokers: Brokers) -> None:
    one, two = brokers.open("one"), brokers.open("two")
    assert one.try_lease(begin(one, "first"), "note")
    assert two.try_lease(begin(two, "second"), "source")
    assert two.try_lease(begin(two, "third", notebook_id=NOTEBOOK[:-1] + "b"), "note")


ENDINGS: dict[str, Callable[[JournalStore, int], object]] = {
    "prove_step": lambda store, row: store.prove_step(row, "create", {}, "x"),
    "confirm": lambda store, row: store.confirm(row, RESULT),
    "reject": lambda store, row: store.reject(row, ERROR),
    "lose": lambda store, row: store.lose(row, ERROR),
    "let_go": lambda store, row: store.let_go(row),
    "take_back": lambda store, row: store.take_back(row, "create"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_lease_ends_with_what_it_was_for(brokers: Brokers, ending: str) -> None:
    one, two = brokers.open("one"), brokers.open("two")
    row = begin(one, "first")
    assert one.try_lease(row, "note")
    one.mark_sent(row, "create", {})
    ENDINGS[ending](one, row)
    assert two.try_lease(begin(two, "second"), "note")


def test_a_lease_of_our_own_that_was_not_given_back_bars_only_others(brokers: Brokers) -> None:
    """Its write ended while the disk was full, say. This broker's next write in the notebook goes on."""
    one, two = brokers.open("one"), brokers.open("two")
    stale, next_one = begin(one, "stale"), begin(one, "next")
    assert one.try_lease(stale, "note")
    assert one.try_lease(next_one, "note")
    assert not two.try_lease(begin(two, "other"), "note")
    one.lose(one.mark_sent(stale, "create", {}).id, ERROR)  # the late end of the first takes nothing from the second
    assert not two.try_lease(begin(two, "another"), "note")


# ---------------------------------------------------------------------------------------------------- rivals
def test_rivals_are_other_unsettled_writes_that_would_look_the_same(brokers: Brokers) -> None:
    store = brokers.open("one")
    mine, prepared, sent, lost, done, elsewhere, different = (
        begin(store, key, name="n" if key != "different" else "d", notebook_id=notebook_id)
        for key, notebook_id in [
            *((key, NOTEBOOK) for key in ("mine", "prepared", "sent", "lost", "done")),
            ("elsewhere", NOTEBOOK[:-1] + "b"),
            ("different", NOTEBOOK),
        ]
    )
    assert prepared
    for row in (mine, sent, lost, done, elsewhere, different):
        store.mark_sent(row, "create", {})
    store.lose(lost, ERROR)
    store.confirm(done, RESULT)
    assert store.rivals(mine, "create") == 2  # sent and lost
    store.prove_step(sent, "create", {}, "x")  # it knows its own thing now
    assert store.rivals(mine, "create") == 1
    assert store.rivals(mine, "fill") == 0


# ---------------------------------------------------------------------------------------------------- the person
def test_the_persons_verdict_needs_a_row_nobody_alive_works_on(brokers: Brokers) -> None:
    one, person = brokers.open("one"), brokers.open("")
    row = begin(one)
    one.mark_sent(row, "create", {})
    with pytest.raises(InvalidArgument, match="another process"):
        person.settle(row, Event.SETTLE_DONE, RESULT)
    brokers.dead.add("one")
    record = person.settle(row, Event.SETTLE_DONE, RESULT, "x")
    assert (record.state, record.result, record.claims) == (State.CONFIRMED, RESULT, ("x",))


def test_the_persons_verdict_takes_no_id_of_another_write(brokers: Brokers) -> None:
    store = brokers.open("one")
    first, second = begin(store, "first"), begin(store, "second")
    store.mark_sent(first, "create", {})
    store.prove_step(first, "create", {}, "x")
    store.mark_sent(second, "create", {})
    store.lose(second, ERROR)
    before = row_of(store, second)
    with pytest.raises(ClaimTaken):
        store.settle(second, Event.SETTLE_DONE, RESULT, "x")
    assert row_of(store, second) == before


def test_a_row_that_is_not_there_cannot_be_settled(brokers: Brokers) -> None:
    with pytest.raises(InvalidArgument, match="no row 7"):
        brokers.open("one").settle(7, Event.SETTLE_DONE, RESULT)


# ---------------------------------------------------------------------------------------------------- retention
def test_settled_rows_go_after_their_time_and_all_others_stay(brokers: Brokers) -> None:
    store = brokers.open("one")
    rows = {name: begin(store, name) for name in ("prepared", "sent", "unknown", "confirmed", "rejected")}
    for name in ("sent", "unknown", "confirmed", "rejected"):
        store.mark_sent(rows[name], "create", {})
    store.lose(rows["unknown"], ERROR)
    store.prove_step(rows["confirmed"], "create", {}, "x")
    store.confirm(rows["confirmed"], RESULT)
    store.reject(rows["rejected"], ERROR)
    settled_at_ms = row_of(store, rows["confirmed"]).updated_at_ms
    assert store.prune(settled_at_ms + KEEP_SETTLED_DAYS * DAY_MS - 1000) == 0
    assert store.prune(settled_at_ms + (KEEP_SETTLED_DAYS + 1) * DAY_MS) == 2
    assert {record.key for record in store.records()} == {"prepared", "sent", "unknown"}
    assert store.claimed_among("ada@example.com", ["x"]) == frozenset()  # claims and steps go with their row


def test_a_forgotten_rows_number_is_never_given_again(brokers: Brokers) -> None:
    """People and messages name rows by number."""
    store = brokers.open("one")
    row = begin(store)
    store.mark_sent(row, "create", {})
    store.confirm(row, RESULT)
    store.prune(row_of(store, row).updated_at_ms + (KEEP_SETTLED_DAYS + 1) * DAY_MS)
    assert begin(store) > row


def test_rows_are_listed_newest_first_by_state_and_number(brokers: Brokers) -> None:
    store = brokers.open("one")
    rows = [begin(store, str(number)) for number in range(4)]
    store.mark_sent(rows[1], "create", {})
    assert [record.id for record in store.records()] == rows[::-1]
    assert [record.id for record in store.records(limit=2)] == rows[:1:-1]
    assert [record.id for record in store.records(State.SENT)] == [rows[1]]
