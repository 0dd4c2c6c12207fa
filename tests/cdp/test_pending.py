"""The table of open calls, played against a naive model."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from cdp.errors import ConnectionLost
from cdp.pending import PendingCalls

SESSIONS = st.sampled_from([None, "A", "B"])


class PendingModel(RuleBasedStateMachine):
    """Each waiter is woken at most once, and by close at the latest unless its owner dropped it."""

    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.table = PendingCalls[str]()
        self.open: dict[int, tuple[str | None, str]] = {}
        self.given = 0

    @rule(target=ids, session=SESSIONS)
    def add(self, session):
        waiter = f"waiter {self.given}"
        call_id = self.table.add("X.y", session, waiter)
        self.given += 1
        assert call_id == self.given
        self.open[call_id] = (session, waiter)
        return call_id

    @rule(call_id=ids)
    def answer(self, call_id):
        call = self.table.take(call_id)
        expected = self.open.pop(call_id, None)
        assert (None if call is None else (call.session_id, call.waiter)) == expected

    @rule(call_id=ids)
    def give_up(self, call_id):
        self.table.drop(call_id)
        self.open.pop(call_id, None)

    @rule(session=st.sampled_from(["A", "B"]))
    def detach(self, session):
        orphans = {call.id for call in self.table.take_session(session)}
        assert orphans == {call_id for call_id, (of, _) in self.open.items() if of == session}
        self.open = {call_id: entry for call_id, entry in self.open.items() if call_id not in orphans}

    @invariant()
    def holds_what_is_open(self):
        assert len(self.table) == len(self.open)


TestPendingModel = PendingModel.TestCase
TestPendingModel.settings = settings(max_examples=50, stateful_step_count=30)


def test_closing_returns_every_open_call_once_and_the_first_reason_stands():
    table = PendingCalls[str]()
    table.add("A.a", None, "one")
    table.add("B.b", "S", "two")
    assert [call.waiter for call in table.close("Chrome crashed")] == ["one", "two"]
    assert table.close("something later") == []
    with pytest.raises(ConnectionLost, match="Chrome crashed"):
        table.add("C.c", None, "three")
    assert repr(table) == "<PendingCalls 0 pending, closed: Chrome crashed>"
