import trio
from trio.testing import MockClock

from broker.calls import CallContext


async def test_a_derived_deadline_never_outlives_its_parent(autojump_clock: MockClock) -> None:
    parent = CallContext.starting_now(10, "00-a")
    assert parent.with_timeout(60).deadline == parent.deadline
    assert parent.with_timeout(2).remaining_s() == 2
    await trio.sleep(11)
    assert parent.remaining_s() == 0


async def test_derived_contexts_add_to_one_ledger(autojump_clock: MockClock) -> None:
    parent = CallContext.starting_now(10, "00-a")
    parent.add_hops({"fetch_ms": 2.0, "relay_ms": 1.0})
    parent.with_timeout(1).add_hops({"fetch_ms": 3.0})
    assert parent.hops == {"fetch_ms": 5.0, "relay_ms": 1.0}
