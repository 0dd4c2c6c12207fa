"""Subscriptions: what a reader gets, and what happens to a slow one."""

import pytest
import trio
import trio.testing

from cdp.errors import ConnectionLost, EventsLost, SessionDetached
from cdp.events import EventStream
from cdp.messages import Event


def stream(*methods: str, session_id: str | None = None, capacity: int = 3) -> EventStream:
    return EventStream(frozenset(methods), session_id, capacity)


async def test_only_subscribed_methods_of_the_subscribed_session_are_kept():
    events = stream("A.a", session_id="S")
    events.offer(Event("A.a", {}, None))
    events.offer(Event("B.b", {}, "S"))
    events.offer(Event("A.a", {"n": 1}, "S"))
    assert await anext(events) == Event("A.a", {"n": 1}, "S")
    assert repr(events) == "<EventStream ['A.a'] 0/3 kept, open>"


async def test_a_reader_waits_until_something_comes(nursery):
    events = stream("A.a")
    got: list[Event] = []

    async def read() -> None:
        got.append(await anext(events))

    nursery.start_soon(read)
    await trio.testing.wait_all_tasks_blocked()
    assert got == []
    events.offer(Event("A.a", {"n": 1}))
    await trio.testing.wait_all_tasks_blocked()
    assert got == [Event("A.a", {"n": 1})]


async def test_a_slow_reader_gets_what_was_kept_and_then_an_error():
    """The overflow rule: nothing is lost silently, and the connection's reader task never waits."""
    events = stream("A.a", capacity=2)
    for n in range(5):
        events.offer(Event("A.a", {"n": n}))
    assert [(await anext(events)).params["n"] for _ in range(2)] == [0, 1]
    with pytest.raises(EventsLost, match=r"A\.a was more than 2 events behind"):
        await anext(events)


async def test_events_before_the_end_are_delivered_before_it():
    events = stream("A.a")
    events.offer(Event("A.a", {}))
    events.end(ConnectionLost("gone"))
    events.end(EventsLost("too late"))
    assert (await anext(events)).method == "A.a"
    with pytest.raises(ConnectionLost, match="gone"):
        await anext(events)


async def test_the_end_of_one_session_leaves_the_streams_of_others_alone():
    mine, other = stream("A.a", session_id="S"), stream("A.a")
    for events in (mine, other):
        events.end(SessionDetached("detached"), "S")
    with pytest.raises(SessionDetached):
        await anext(mine)
    other.offer(Event("A.a", {}))
    assert (await anext(other)).method == "A.a"


async def test_first_skips_to_the_wanted_event():
    events = stream("A.a")
    for n in range(3):
        events.offer(Event("A.a", {"n": n}))
    assert (await events.first(lambda event: event.params["n"] == 2)).params == {"n": 2}
