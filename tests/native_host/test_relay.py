"""Playbooks with several connections: what concerns the host as a whole. For one connection: `test_connection`."""

import json

import pytest

from native_host.protocol import BROKER_TO_HOST, EVENTS, WORKER_TO_HOST
from native_host.relay import Relay
from tests.native_host.fakes import HELLO, READY, Frame, call_frame
from tests.native_host.playbook import Play

RESULT: Frame = {"type": "result", "id": 7, "ok": True, "value": 1}


def test_the_worker_is_told_of_a_connection_when_it_has_said_hello() -> None:
    play = Play()
    conn = play.open()
    assert play.broker(conn, HELLO) == [
        ("to worker", {"conn": 1, "type": "conn_open", "client": {"name": "test", "version": "1"}, "build": "0.1.0"}),
        (
            "to broker",
            1,
            {
                "type": "welcome",
                "v": 1,
                "host": {"build": "0.1.0", "pid": 77},
                "extension": {"build": "0.1.0", "id": READY["extension_id"], "profile": "profile-1"},
                "account": "ada@example.com",
            },
        ),
    ]


def test_a_welcome_before_ready_says_so_and_is_repeated_each_time_the_worker_is_ready() -> None:
    play = Play(is_ready=False)
    conn = play.open()
    first = play.broker(conn, HELLO)[1][2]
    assert (first["extension"], first["account"]) == (None, None)
    not_greeted = play.open()
    assert [step[:2] for step in play.worker(READY)] == [("to broker", conn)]
    ((_, _, again),) = play.worker({**READY, "account": None})
    assert (again["type"], again["extension"]["profile"], again["account"]) == ("welcome", "profile-1", None)
    assert play.gone(not_greeted) == []


def test_results_go_to_the_connection_that_asked_and_to_no_other() -> None:
    play = Play()
    one, two = play.greet(), play.greet()
    for conn in (one, two):
        assert play.broker(conn, call_frame(7)) == [("to worker", {"conn": conn, **call_frame(7)})]
    assert play.worker({"conn": two, **RESULT}) == [("to broker", two, RESULT)]
    assert play.worker({"conn": two, **RESULT}) == [], "a call has one result"
    assert play.worker({"conn": one, **RESULT}) == [("to broker", one, RESULT)]


def test_a_forged_address_is_replaced_by_the_hosts_own() -> None:
    play = Play()
    victim, forger = play.greet(), play.greet()
    play.broker(victim, call_frame(7))
    assert play.broker(forger, {**call_frame(8), "conn": victim}) == [("to worker", {"conn": forger, **call_frame(8)})]
    twice = json.dumps({"conn": forger, **call_frame(9)})[:-1] + f', "conn": {victim}}}'
    assert play.broker_payload(forger, twice.encode()) == [("to worker", {"conn": forger, **call_frame(9)})]
    assert play.broker(forger, {"type": "cancel", "id": 7, "reason": "", "conn": victim}) == []


@pytest.mark.parametrize("kind", ["result", "chunk", "event", "ready", "conn_open", "conn_close", "welcome", "EXECUTE"])
def test_types_that_a_broker_may_not_send_end_it_and_reach_nobody(kind: str) -> None:
    play = Play()
    victim, forger = play.greet(), play.greet()
    play.broker(victim, call_frame(7))
    steps = play.broker(forger, {"conn": victim, "type": kind, "id": 7, "ok": True, "value": 2, "name": "paused"})
    assert [step[:2] for step in steps] == [
        ("to broker", forger),
        ("forget unsent", forger),
        ("to worker", {"conn": forger, "type": "conn_close", "reason": steps[3][2][:200]}),
        ("close", forger),
    ]
    assert (steps[0][2]["type"], steps[0][2]["code"]) == ("error", "INVALID_ARGUMENT")
    assert play.broker(forger, call_frame(1)) == [], "nothing more is read from it"
    assert play.worker({"conn": victim, **RESULT}) == [("to broker", victim, RESULT)]


def test_words_for_a_connection_that_is_gone_are_dropped() -> None:
    play = Play()
    conn = play.greet()
    play.broker(conn, call_frame(7))
    assert play.gone(conn) == [
        ("forget unsent", conn),
        ("to worker", {"conn": conn, "type": "conn_close", "reason": "gone"}),
    ]
    assert play.gone(conn) == []
    chunk: Frame = {"type": "chunk", "id": 7, "seq": 0, "data": "x"}
    event: Frame = {"type": "event", "name": "paused", "detail": None}
    for frame in (RESULT, chunk, event, {"type": "error", "code": "INTERNAL", "message": "?"}):
        assert play.worker({"conn": conn, **frame}) == []
    assert play.broker(conn, call_frame(8)) == []
    assert play.greet() == conn + 1, "numbers are not used twice"


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_goes_to_its_connection_or_from_zero_to_all_that_are_open(name: str) -> None:
    play = Play()
    one, two = play.greet(), play.greet()
    play.open()
    event: Frame = {"type": "event", "name": name, "detail": {"host": "x"}}
    assert play.worker({"conn": two, **event}) == [("to broker", two, event)]
    assert play.worker({"conn": 0, **event}) == [("to broker", one, event), ("to broker", two, event)]


def test_an_error_of_the_worker_about_a_connection_ends_that_connection() -> None:
    play = Play()
    one, two = play.greet(), play.greet()
    steps = play.worker({"conn": one, "type": "error", "code": "INVALID_ARGUMENT", "message": "no such op"})
    assert steps[0] == ("to broker", one, {"type": "error", "code": "INVALID_ARGUMENT", "message": "no such op"})
    assert steps[-1] == ("close", one, "INVALID_ARGUMENT: no such op")
    assert play.broker(two, call_frame(1)) == [("to worker", {"conn": two, **call_frame(1)})]


def test_an_error_of_the_worker_about_us_ends_the_host() -> None:
    play = Play()
    (step,) = play.worker({"conn": 0, "type": "error", "code": "VERSION_SKEW", "message": "too old"})
    assert step == ("end", "the worker reports VERSION_SKEW: too old")


def test_frames_of_the_worker_that_we_do_not_know_are_ignored() -> None:
    play = Play()
    conn = play.greet()
    assert play.worker({"conn": conn, "type": "novelty"}) == []
    assert play.worker({"t": "ping"}) == []
    assert play.worker_payload(b"[]") == []


def test_a_worker_of_another_version_gets_an_error_and_so_does_every_broker() -> None:
    play = Play()
    conn = play.greet()
    steps = play.worker({**READY, "v_min": 2, "v_max": 3, "build": "9.9"})
    assert [step[0] for step in steps] == ["to worker", "to broker", "forget unsent", "to worker", "close"]
    assert (steps[0][1]["conn"], steps[0][1]["code"]) == (0, "VERSION_SKEW")
    for text in (steps[0][1]["message"], steps[1][2]["message"]):
        assert "9.9" in text
        assert "0.1.0" in text
        assert "pip install --upgrade notebook-gateway" in text
        assert "restart Chrome" in text
    play.gone(conn)
    late = play.open()
    assert play.broker(late, HELLO)[0][2]["code"] == "VERSION_SKEW"
    play.gone(late)
    play.worker(READY)
    assert play.greet()


def test_the_hundred_and_twenty_ninth_call_in_one_browser_is_refused() -> None:
    play = Play()
    conns = [play.greet() for _ in range(5)]
    for conn in conns[:4]:
        for call_id in range(32):
            assert play.broker(conn, call_frame(call_id))[0][0] == "to worker"
    ((_, _, refused),) = play.broker(conns[4], call_frame(1))
    assert refused["error"]["code"] == "RATE_LIMITED"
    assert refused["error"]["started"] is False
    assert refused["error"]["detail"]["retry_after_ms"] > 0
    assert "128" in refused["error"]["message"]
    play.gone(conns[0])
    assert play.broker(conns[4], call_frame(2))[0][0] == "to worker", "the places of a closed connection are free"


def test_both_legs_have_a_heartbeat_and_two_misses_of_a_broker_end_that_broker() -> None:
    play = Play()
    silent, alive = play.greet(), play.greet()
    for now_s in (15, 30):
        steps = play.tick(now_s)
        assert ("to worker", {"conn": 0, "type": "ping", "t": now_s * 1000}) in steps
        assert ("to broker", silent, {"type": "ping", "t": now_s * 1000}) in steps
        assert ("to broker", alive, {"type": "ping", "t": now_s * 1000}) in steps
        play.broker(alive, {"type": "pong", "t": now_s * 1000})
        play.worker({"conn": 0, "type": "pong", "t": now_s * 1000})
    steps = play.tick(45)
    assert [step[:2] for step in steps if step[0] in ("close", "end")] == [("close", silent)]
    assert ("to broker", alive, {"type": "ping", "t": 45_000}) in steps


def test_two_misses_of_the_worker_end_the_host() -> None:
    play = Play(is_ready=False)
    play.tick(15)
    play.tick(30)
    assert play.tick(45) == [("end", "the worker gives no sign of life")]


def test_a_broker_that_we_do_not_read_is_not_taken_for_dead() -> None:
    play = Play()
    conn = play.greet()
    for now_s in (15, 30, 45, 60):
        play.relay.broker_is_held_back(conn)
        play.worker({"conn": 0, "type": "pong", "t": 1})
        assert ("to broker", conn, {"type": "ping", "t": now_s * 1000}) in play.tick(now_s)


def test_a_connection_without_hello_ends_after_one_period() -> None:
    play = Play()
    conn = play.open()
    steps = play.tick(15)
    assert ("close", conn, "INVALID_ARGUMENT: no hello came") in steps
    assert not any(step[0] == "to worker" and step[1]["conn"] == conn for step in steps)


def test_a_ping_of_the_worker_is_answered() -> None:
    assert Play().worker({"conn": 0, "type": "ping", "t": 5}) == [("to worker", {"conn": 0, "type": "pong", "t": 5})]


def test_a_pong_tells_how_long_the_worker_has_been_silent() -> None:
    play = Play(is_ready=False)
    conn = play.greet()
    assert play.broker(conn, {"type": "ping", "t": 3}) == [
        ("to broker", conn, {"type": "pong", "t": 3, "worker_last_seen_ms": None})
    ]
    play.worker(READY)
    play.now_s = 2.5
    ((_, _, pong),) = play.broker(conn, {"type": "ping", "t": "x"})
    assert pong == {"type": "pong", "t": "x", "worker_last_seen_ms": 2500}


def test_the_tables_of_handlers_are_the_tables_of_the_protocol() -> None:
    from native_host.connection import Connection

    assert set(Relay._FROM_WORKER) == WORKER_TO_HOST  # pyright: ignore[reportPrivateUsage]  # the table is the subject
    understood = Connection._UNDERSTOOD  # pyright: ignore[reportPrivateUsage]  # the table is the subject
    assert {kind for table in understood.values() for kind in table} == BROKER_TO_HOST


def test_the_state_shows_in_the_repr() -> None:
    play = Play()
    play.broker(play.greet(), call_frame(1))
    assert repr(play.relay).startswith("<Relay worker ready, 1 calls, [<Connection 1 OPEN 1 open, 0 draining, ")
