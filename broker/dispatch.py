"""One tool call from arguments to envelope. Knows nothing of MCP, so it is tested without a client.

Everything that goes wrong becomes a failure envelope here, with one exception: an unknown tool is the client's protocol
error. A question to the person is no failure and passes through. Arguments are checked against the published schema,
results against the published output schema, by us: the SDK checks neither.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, cast

import orjson
import trio
from attrs import field, frozen

from broker.calls import CallContext
from broker.catalog import AnyTool
from broker.confirmation import AnswerNeeded
from broker.convert import structure_arguments
from broker.errors import (
    DeadlineExceeded,
    ErrorCode,
    InternalError,
    InvalidArgument,
    failure_envelope,
    success_envelope,
)
from broker.faults import as_gateway_error
from broker.schema_check import Check, compile_schema
from broker.scrubber import may_hold_secret, scrub_content, scrub_json, scrub_text
from broker.session import Confirm, Say, Session, ToolCall, cannot_ask
from broker.spans import ASKED, OK, OpenSpan
from broker.trace import continue_or_begin_trace, current_tool, span_id_of
from broker.wire_json import clean_text

log = logging.getLogger(__name__)

MAX_CALLS_AT_ONCE: Final = 24
"""Below the relay's 32 open calls per connection, which a call's own follow-up requests also need."""
HOPS_META_KEY: Final = "io.notebook-gateway/hops"
"""In a request's `_meta`: true asks for `_meta.hops_ms` in the result."""
CALLER_KEYS: Final = ("request_key", "idempotency_key")
MAX_CORRELATION_CHARS: Final = 200


class UnknownTool(LookupError):
    """No such tool; a protocol error, not a tool result."""


@frozen
class CallRequest:
    """One `tools/call` as it came in.

    `say` sends progress, `meta` is the request's own `_meta`, `confirm` puts a question to the person.
    """

    tool: str
    arguments: Mapping[str, object]
    request_id: str
    say: Say = field(repr=False)
    meta: Mapping[str, object] = field(factory=dict[str, object])
    confirm: Confirm = field(default=cannot_ask, repr=False)


@frozen
class CallOutcome:
    """The published envelope, as an object and as the same JSON text."""

    envelope: dict[str, object] = field(repr=False)
    text: str = field(repr=False)

    @property
    def is_error(self) -> bool:
        return not self.envelope["ok"]


class Dispatcher:
    """Runs the calls of one session, a bounded number at a time.

    `open_session` makes the session, once, when the first call needs it: its imports must not delay `initialize`.
    """

    def __init__(self, tools: Sequence[AnyTool], open_session: Callable[[], Session]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._open_session = cache(open_session)
        self._slots = trio.CapacityLimiter(MAX_CALLS_AT_ONCE)

    def __repr__(self) -> str:
        return f"<Dispatcher {len(self._tools)} tools, {self._slots.borrowed_tokens} calls>"

    async def dispatch(self, request: CallRequest) -> CallOutcome:
        """Carry out one call.

        Raises:
            UnknownTool: the catalog has no such tool.
            AnswerNeeded: the tool asks the person something, and the answer comes with a repeat of the call.
        """
        tool = self._tools.get(request.tool)
        if tool is None:
            raise UnknownTool(request.tool)
        incoming = request.meta.get("traceparent")
        ctx = CallContext.starting_now(tool.timeout_s, continue_or_begin_trace(incoming))
        span = OpenSpan("call", tool.name, ctx.traceparent, span_id_of(incoming))
        meta: dict[str, object] = {
            "traceparent": ctx.traceparent,
            "mcp_correlation_id": _correlation_id(request),
        }
        try:
            result = await self._run(tool, request, ctx)
            outcome = _seal(tool, success_envelope(_scrubbed(result), self._with_hops(meta, request, ctx, span)))
            span.end(ErrorCode.INTERNAL if outcome.is_error else OK)
        except AnswerNeeded:
            span.end(ASKED)
            raise
        except Exception as error:  # noqa: BLE001  # the catch-all: an agent always gets an envelope
            ours = as_gateway_error(error, tool.name)
            log.info("%s: %s %s", tool.name, ours.code, ours.message, extra={"traceparent": ctx.traceparent})
            failed = cast("dict[str, object]", scrub_json(failure_envelope(ours, meta), scrub_text))
            # The ids are ours and the caller's own; a long number among them is no secret.
            outcome = _seal(tool, {**failed, "_meta": self._with_hops(meta, request, ctx, span)})
            span.end(ours.code)
        finally:
            span.end(ErrorCode.CANCELLED)  # what is neither of these is the client's cancel
        return outcome

    async def _run(self, tool: AnyTool, request: CallRequest, ctx: CallContext) -> dict[str, object]:
        violation = _argument_check(tool)(dict(request.arguments))
        if violation is not None:
            raise InvalidArgument(f"{tool.name}: {violation}.", started=False)
        arguments = structure_arguments(request.arguments, tool.arguments)
        current_tool.set(tool.name)  # each request has a task of its own
        with trio.move_on_at(ctx.deadline):
            async with self._slots:
                call = ToolCall(self._open_session(), ctx, request.say, request.confirm)
                return await tool.handler(arguments, call)
        raise DeadlineExceeded(f"{tool.name} did not end within {tool.timeout_s:g} s.")

    def _with_hops(
        self, meta: dict[str, object], request: CallRequest, ctx: CallContext, span: OpenSpan
    ) -> dict[str, object]:
        if request.meta.get(HOPS_META_KEY) is not True:
            return meta
        hops = {**ctx.hops, "total_ms": span.elapsed_ms}
        return {**meta, "hops_ms": {name: round(ms, 3) for name, ms in hops.items()}}


@cache
def _argument_check(tool: AnyTool) -> Check:
    return compile_schema(tool.input_schema)


@cache
def _output_check(tool: AnyTool) -> Check:
    return compile_schema(tool.output_schema)


def _correlation_id(request: CallRequest) -> str:
    """Return the caller's own key as it was given, never hashed (P-04), else the JSON-RPC id as text."""
    for name in CALLER_KEYS:
        key = request.arguments.get(name)
        if isinstance(key, str) and 0 < len(key) <= MAX_CORRELATION_CHARS:
            return key
    return request.request_id


def _scrubbed(result: dict[str, object]) -> dict[str, object]:
    # One look at the whole text is cheap; walking the object is not, and hardly ever needed.
    if may_hold_secret(_to_json(result)):
        return cast("dict[str, object]", scrub_json(result, scrub_content))
    return result


def _seal(tool: AnyTool, envelope: dict[str, object]) -> CallOutcome:
    """Check the envelope against what was published; what clients would refuse never leaves."""
    violation = _output_check(tool)(envelope)
    if violation is not None:
        log.error("%s: its own result breaks the output schema: %s", tool.name, violation)
        fault = InternalError(f"{tool.name} made a result that breaks its own schema at {violation.path}.")
        envelope = failure_envelope(fault, cast("dict[str, object]", envelope["_meta"]))
    return CallOutcome(envelope, _to_json(envelope))


def _to_json(value: dict[str, object]) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, which UTF-8 cannot carry
        return orjson.dumps(scrub_json(value, clean_text)).decode()
