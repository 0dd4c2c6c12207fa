"""What the dispatcher adds around any tool: checks, envelope, ids, deadlines, the last line against faults."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import pytest
import trio
import trio.testing
from attrs import frozen
from trio.testing import MockClock

from broker.catalog import Hints, Tool
from broker.confirmation import AnswerNeeded
from broker.dispatch import HOPS_META_KEY, MAX_CALLS_AT_ONCE, CallOutcome, CallRequest, Dispatcher, UnknownTool
from broker.errors import NotFound
from broker.schemas import closed_object, list_of, text
from broker.session import Answer, Session, ToolCall
from broker.trace import current_tool

Handler = Callable[[Any, ToolCall], Awaitable[dict[str, object]]]


@frozen
class Arguments:
    name: str = "x"
    parts: list[str] | None = None
    request_key: str | None = None


def tool_of(handler: Handler) -> Tool[Arguments]:
    return Tool(
        name="probe",
        title="Probe",
        description="A tool for these tests.",
        hints=Hints(read_only=True, destructive=False, idempotent=True),
        input_schema=closed_object({"name": text(), "parts": list_of(text()), "request_key": text()}),
        result_schema=closed_object({"said": text()}, required=("said",)),
        arguments=Arguments,
        handler=handler,
        timeout_s=10.0,
    )


async def _say(words: str) -> None:
    await trio.lowlevel.checkpoint()


async def call(handler: Handler, arguments: Mapping[str, object] | None = None, **meta: object) -> CallOutcome:
    dispatcher = Dispatcher([tool_of(handler)], lambda: cast("Session", None))
    return await dispatcher.dispatch(CallRequest("probe", arguments or {}, "17", _say, meta))


async def echo(arguments: Arguments, call: ToolCall) -> dict[str, object]:
    await trio.lowlevel.checkpoint()
    return {"said": arguments.name}


def error_of(outcome: CallOutcome) -> Any:
    assert outcome.is_error
    assert json.loads(outcome.text) == outcome.envelope
    return outcome.envelope["error"]


async def test_a_success_is_the_same_object_twice():
    outcome = await call(echo, {"name": "hello 😀"})
    assert outcome.envelope["result"] == {"said": "hello 😀"}
    assert json.loads(outcome.text) == outcome.envelope
    assert ": " not in outcome.text


async def test_the_handler_and_its_tasks_know_the_tool_they_work_for():
    seen: list[str] = []

    async def look(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(note)
        return {"said": ""}

    async def note() -> None:
        await trio.lowlevel.checkpoint()
        seen.append(current_tool.get())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, look)
    assert seen == ["probe"]
    assert current_tool.get() == ""


async def test_an_unknown_tool_is_a_protocol_error():
    with pytest.raises(UnknownTool):
        await Dispatcher([], lambda: cast("Session", None)).dispatch(CallRequest("probe", {}, "1", _say))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"nme": "x"}, "nme"), ({"name": 5}, "name"), ({"parts": '["a"]'}, "parts"), ({"_meta": {}}, "_meta")],
)
async def test_c015_wrong_arguments_never_reach_the_handler(arguments: dict[str, object], named: str):
    async def never(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        raise AssertionError

    error = error_of(await call(never, arguments))
    assert error["code"] == "INVALID_ARGUMENT"
    assert named in error["message"]


async def test_the_callers_key_is_the_correlation_id_else_the_request_id():
    """P-04: never hashed."""

    def id_of(outcome: CallOutcome) -> object:
        return cast("dict[str, object]", outcome.envelope["_meta"])["mcp_correlation_id"]

    assert id_of(await call(echo)) == "17"
    assert id_of(await call(echo, {"request_key": "my key 😀"})) == "my key 😀"
    assert id_of(await call(echo, {"request_key": "x" * 201})) == "17"
    # A key that looks like a secret is still the caller's own and comes back as it was, on failures too.
    key = "100000000000000000005"
    assert id_of(await call(echo, {"request_key": key, "nme": 1})) == key


async def test_a_valid_trace_is_continued_and_an_invalid_one_is_not():
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    outcome = await call(echo, traceparent=f"00-{trace}-00f067aa0ba902b7-01")
    assert trace in outcome.text
    assert trace not in (await call(echo, traceparent=f"00-{trace}-bad")).text


async def test_hops_are_told_only_on_request():
    async def with_hops(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.lowlevel.checkpoint()
        call.ctx.add_hops({"fetch_ms": 1.23456, "worker_ms": 2.0})
        return {"said": "x"}

    assert "hops_ms" not in (await call(with_hops)).text
    outcome = await call(with_hops, **{HOPS_META_KEY: True})
    hops = cast("Any", outcome.envelope["_meta"])["hops_ms"]
    assert hops["fetch_ms"] == 1.235
    assert hops["total_ms"] > 0


async def test_a_foreign_error_is_internal_and_its_text_stays_here():
    async def fails(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        raise RuntimeError("SID=very-secret-value")

    outcome = await call(fails)
    assert error_of(outcome)["code"] == "INTERNAL"
    assert "very-secret" not in outcome.text


async def test_an_error_from_a_nursery_is_unwrapped():
    async def fails(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_raise_not_found)
        raise AssertionError

    assert error_of(await call(fails))["code"] == "NOT_FOUND"


async def _raise_not_found() -> None:
    await trio.lowlevel.checkpoint()
    raise NotFound("gone")


async def test_c029_errors_are_scrubbed_in_message_hint_and_details():
    async def fails(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        raise NotFound("at=secret-one1&", hint="SID=secret-two2", details={"x": ["upload_id=secret-three"]})

    assert "secret-" not in (await call(fails)).text


async def test_c071_a_lone_surrogate_in_a_result_is_replaced():
    async def half(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.lowlevel.checkpoint()
        return {"said": "half \ud800"}

    assert "half \ufffd" in (await call(half)).text


@pytest.mark.parametrize("result", [{}, {"said": 5}, {"said": "x", "more": 1}])
async def test_a_result_that_breaks_its_own_schema_never_leaves(result: dict[str, object]):
    async def wrong(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.lowlevel.checkpoint()
        return result

    assert error_of(await call(wrong))["code"] == "INTERNAL"


async def test_no_call_is_silent_beyond_its_deadline(autojump_clock: MockClock):
    async def hangs(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.sleep_forever()
        raise AssertionError

    started_at = trio.current_time()
    error = error_of(await call(hangs))
    assert error["code"] == "TIMEOUT"
    assert trio.current_time() - started_at == 10.0


async def test_a_question_to_the_person_reaches_them_and_its_answer_the_handler():
    asked: list[str] = []

    async def accept(question: str) -> Answer:
        await trio.lowlevel.checkpoint()
        asked.append(question)
        return "accepted"

    async def asks(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        return {"said": await call.confirm("Really?")}

    dispatcher = Dispatcher([tool_of(asks)], lambda: cast("Session", None))
    outcome = await dispatcher.dispatch(CallRequest("probe", {}, "1", _say, confirm=accept))
    assert outcome.envelope["result"] == {"said": "accepted"}
    assert asked == ["Really?"]
    assert (await call(asks)).envelope["result"] == {"said": "cannot_ask"}


async def test_a_question_that_travels_in_the_result_is_no_failure():
    async def asks(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.lowlevel.checkpoint()
        raise AnswerNeeded("Really?")

    with pytest.raises(AnswerNeeded):
        await call(asks)


async def test_a_cancelled_call_is_cancelled():
    async def hangs(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        await trio.sleep_forever()
        raise AssertionError

    with trio.move_on_after(0) as scope:
        await call(hangs)
    assert scope.cancelled_caught


async def test_calls_beyond_the_limit_wait_for_their_turn():
    running = 0
    most = 0

    async def slow(arguments: Arguments, call: ToolCall) -> dict[str, object]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return {"said": "x"}

    dispatcher = Dispatcher([tool_of(slow)], lambda: cast("Session", None))
    async with trio.open_nursery() as nursery:
        for _ in range(MAX_CALLS_AT_ONCE * 2):
            nursery.start_soon(dispatcher.dispatch, CallRequest("probe", {}, "1", _say))
    assert most == MAX_CALLS_AT_ONCE
    assert repr(dispatcher) == "<Dispatcher 1 tools, 0 calls>"
