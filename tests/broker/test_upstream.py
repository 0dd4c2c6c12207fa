from __future__ import annotations

from typing import Any

import pytest
import trio

from broker.answer_stream import Phase
from broker.calls import CallContext
from broker.citations import CitedAnswer, decode_final_answer
from broker.companion import RpcReply
from broker.errors import (
    AuthRequired,
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    NotFound,
    RateLimited,
    UngroundedResponse,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.fake_companion import FakeCompanion, StreamScript, reply_body, status_body, stream_body
from broker.limits import GROUNDING_S
from broker.notebooks import Notebook, decode_notebook
from broker.slots import Slot
from broker.source_spans import NoSourceSpan
from broker.upstream import Upstream
from broker.utf16 import Span
from tests.broker.answers import REVISION, SOURCE_1, SOURCE_2, answer, citation, elements
from tests.shared import recordings

NOTEBOOK_ID = "1a2b3c4d-0001-4a00-8b00-00000000000a"
SIGN_IN_PAGE = "<!doctype html>\n<html><title>Sign in</title>"


def source_row(source_id: str, revision: str = REVISION) -> list[Any]:
    return [[source_id], f"Title {source_id[:13]}", [None, 3, None, [revision], 4], [None, 2]]


def notebook_payload(*source_ids: str) -> list[Any]:
    return [["Plan", [source_row(source_id) for source_id in source_ids] or None, NOTEBOOK_ID, "", None, [1]]]


def text_payload(source_id: str, *paragraphs: str) -> list[Any]:
    return [source_row(source_id), None, None, [[elements(*paragraphs)]]]


def context() -> CallContext:
    return CallContext.starting_now(60, "00-trace")


def notebook(*source_ids: str) -> Notebook:
    return decode_notebook(notebook_payload(*source_ids))


def cited(*citations: list[Any]) -> CitedAnswer:
    event = answer("T [1]", ["T"], list(citations), [(0, 1, list(range(len(citations))))], final=True)
    return decode_final_answer(Slot(event, "GenerateFreeFormStreamed"))


async def test_recorded_bodies_become_notebooks() -> None:
    companion = FakeCompanion()
    companion.answer("wXbhsf", recordings("wXbhsf")[0]["response"]["body"])
    companion.answer("rLM1Ne", recordings("rLM1Ne")[0]["response"]["body"])
    upstream, ctx = Upstream(companion), context()
    assert len(await upstream.list_notebooks(ctx)) == 12
    assert len((await upstream.get_notebook("f66923f0-1df4-4ffe-9822-3ed63c558b1c", ctx)).sources) == 44
    assert ctx.hops == {"fetch_ms": 2.0}
    assert companion.sent("wXbhsf")[0].notebook is None
    assert companion.sent("rLM1Ne")[0].notebook == "f66923f0-1df4-4ffe-9822-3ed63c558b1c"


async def test_the_other_reads_decode_their_recordings() -> None:
    companion = FakeCompanion()
    for rpc_id in ("hizoJc", "tr032e", "hPTbtc"):
        companion.answer(rpc_id, recordings(rpc_id)[0]["response"]["body"])
    companion.answer("khqZz", reply_body("khqZz", [[["t", None, 1, "Why?"]]]))
    upstream, ctx = Upstream(companion), context()
    assert (await upstream.source_text(NOTEBOOK_ID, "a474cd35-6c21-4e72-94a0-c38b5491b449", ctx)).text
    assert (await upstream.source_guide(NOTEBOOK_ID, SOURCE_1, ctx)).keywords
    (conversation,) = await upstream.list_conversations(NOTEBOOK_ID, ctx)
    assert len((await upstream.list_turns(NOTEBOOK_ID, conversation.id, ctx)).turns) == 1


async def test_an_answer_about_another_notebook_or_source_is_drift() -> None:
    companion = FakeCompanion()
    companion.answer("rLM1Ne", reply_body("rLM1Ne", notebook_payload()))
    companion.answer("hizoJc", reply_body("hizoJc", text_payload(SOURCE_2, "x")))
    upstream = Upstream(companion)
    with pytest.raises(UpstreamSchemaDrift):
        await upstream.get_notebook(SOURCE_1, context())
    with pytest.raises(UpstreamSchemaDrift):
        await upstream.source_text(NOTEBOOK_ID, SOURCE_1, context())


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_c053_a_stale_token_is_renewed_once_and_the_read_repeated(status: int) -> None:
    companion = FakeCompanion()
    companion.answer("rLM1Ne", RpcReply(status, SIGN_IN_PAGE), reply_body("rLM1Ne", notebook_payload(SOURCE_1)))
    found = await Upstream(companion).get_notebook(NOTEBOOK_ID, context())
    assert [source.id for source in found.sources] == [SOURCE_1]
    assert [request.rpc_id for request in companion.requests] == ["rLM1Ne", "identity", "rLM1Ne"]
    assert companion.requests[1].refresh


async def test_c053_a_token_refused_twice_is_auth_required_without_a_loop() -> None:
    companion = FakeCompanion()
    companion.answer("rLM1Ne", RpcReply(400, SIGN_IN_PAGE))
    with pytest.raises(AuthRequired, match="again after the page was loaded anew"):
        await Upstream(companion).get_notebook(NOTEBOOK_ID, context())
    assert len(companion.requests) == 3


async def test_a_page_that_cannot_be_renewed_says_why() -> None:
    companion = FakeCompanion(identity_error=AuthRequired("signed out"))
    companion.answer("rLM1Ne", RpcReply(400, ""))
    with pytest.raises(AuthRequired, match="signed out"):
        await Upstream(companion).get_notebook(NOTEBOOK_ID, context())
    assert len(companion.requests) == 2


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (RpcReply(429, "", retry_after_s=30.0), RateLimited),
        (RpcReply(503, "<html>\n"), UpstreamRejected),
        (RpcReply(302, ""), AuthRequired),
        (RpcReply(200, SIGN_IN_PAGE), AuthRequired),
        (status_body("rLM1Ne", 5), NotFound),
        (status_body("rLM1Ne", 16), AuthRequired),
        (CompanionOffline("no browser"), CompanionOffline),
    ],
)
async def test_refusals_are_passed_on_at_once(reply: str | RpcReply | GatewayError, kind: type[GatewayError]) -> None:
    companion = FakeCompanion()
    companion.answer("rLM1Ne", reply)
    with pytest.raises(kind):
        await Upstream(companion).get_notebook(NOTEBOOK_ID, context())
    assert len(companion.requests) == 1


async def test_the_next_good_call_works_after_every_kind_of_bad_answer() -> None:
    companion = FakeCompanion()
    bad = [RpcReply(500, ""), SIGN_IN_PAGE, ")]}'\n\n", "12\nxx\n", reply_body("rLM1Ne", {"no": "list"})]
    companion.answer("rLM1Ne", *bad, reply_body("rLM1Ne", notebook_payload()))
    upstream = Upstream(companion)
    for _ in bad:
        with pytest.raises(GatewayError):
            await upstream.get_notebook(NOTEBOOK_ID, context())
    assert (await upstream.get_notebook(NOTEBOOK_ID, context())).id == NOTEBOOK_ID


async def test_a_question_is_followed_to_its_final_state() -> None:
    event = answer("B [1]", ["B"], [citation("a", "q", 0)], [(0, 1, [0])], final=True)
    companion = FakeCompanion(streams=[StreamScript(stream_body([answer("B", ["B"]), event]))])
    async with Upstream(companion).ask(NOTEBOOK_ID, "Why?", [SOURCE_1], None, context()) as updates:
        states = [state async for state in updates]
    assert states[-1].phase == Phase.FINAL
    assert updates.conversation is not None
    (request,) = companion.requests
    assert request.notebook == NOTEBOOK_ID
    assert request.params == [[[[SOURCE_1]]], "Why?", None, [2, None, [1], [1]], None, None, None, NOTEBOOK_ID, 1]


async def test_c053_a_refused_question_is_asked_once_more_after_the_page_was_loaded_anew() -> None:
    """HTTP 400 is a definite answer to that request: the question was not asked, so asking it is no repeat."""
    event = answer("B [1]", ["B"], [citation("a", "q", 0)], [(0, 1, [0])], final=True)
    companion = FakeCompanion(streams=[StreamScript([SIGN_IN_PAGE], status=400), StreamScript([stream_body([event])])])
    async with Upstream(companion).ask(NOTEBOOK_ID, "Why?", [SOURCE_1], None, context()) as updates:
        assert [state.phase async for state in updates] == [Phase.FINAL]
    assert [request.rpc_id for request in companion.requests] == ["stream", "identity", "stream"]


async def test_c053_a_question_refused_twice_is_auth_required() -> None:
    companion = FakeCompanion(streams=[StreamScript([SIGN_IN_PAGE], status=400)])
    with pytest.raises(AuthRequired):
        async with Upstream(companion).ask(NOTEBOOK_ID, "Why?", [SOURCE_1], None, context()):
            pass
    assert len(companion.sent("stream")) == 2


async def test_a_source_text_is_read_once_per_revision() -> None:
    companion = FakeCompanion()
    companion.answer("hizoJc", reply_body("hizoJc", text_payload(SOURCE_1, "one")))
    upstream = Upstream(companion)
    for _ in range(3):
        await upstream.source_text(NOTEBOOK_ID, SOURCE_1, context(), revision=REVISION)
    assert len(companion.sent("hizoJc")) == 1
    await upstream.source_text(NOTEBOOK_ID, SOURCE_1, context(), revision="newer")
    await upstream.source_text(NOTEBOOK_ID, SOURCE_1, context())
    assert len(companion.sent("hizoJc")) == 3


async def test_grounding_reads_each_cited_source_once_and_proves_the_places() -> None:
    companion = FakeCompanion()
    companion.answer("hizoJc", reply_body("hizoJc", text_payload(SOURCE_1, "😀 one ", "two")))
    grounded = await Upstream(companion).ground(
        notebook(SOURCE_1), cited(citation("a", "two", 7), citation("b", "😀 one ", 0)), context()
    )
    assert [entry.source_span for entry in grounded.citations] == [Span(6, 9), Span(0, 6)]
    assert len(companion.sent("hizoJc")) == 1


@pytest.mark.parametrize(
    "reply",
    [RpcReply(500, ""), status_body("hizoJc", 5), reply_body("hizoJc", ["drift"]), CompanionOffline("gone")],
)
async def test_a_source_text_that_cannot_be_read_costs_only_its_span(reply: str | RpcReply | GatewayError) -> None:
    companion = FakeCompanion()
    companion.answer("hizoJc", reply)
    grounded = await Upstream(companion).ground(notebook(SOURCE_1), cited(citation("a", "two", 7)), context())
    (entry,) = grounded.citations
    assert entry.quote == "two"
    assert entry.source_span is None
    assert entry.source_span_reason == NoSourceSpan.TEXT_UNAVAILABLE


async def test_a_source_that_is_not_in_the_notebook_is_not_read() -> None:
    companion = FakeCompanion()
    grounded = await Upstream(companion).ground(notebook(SOURCE_2), cited(citation("a", "two", 7)), context())
    assert grounded.citations[0].source_span_reason == NoSourceSpan.NOT_IN_NOTEBOOK
    assert companion.requests == []


async def test_grounding_has_an_end(autojump_clock: trio.testing.MockClock) -> None:
    class SilentCompanion(FakeCompanion):
        async def rpc(self, *args: Any, deadline_s: float, **kwargs: Any) -> RpcReply:
            await trio.sleep_until(deadline_s)
            raise DeadlineExceeded("no answer in time")

    begun = trio.current_time()
    ctx = CallContext.starting_now(1000, "00-trace")
    grounded = await Upstream(SilentCompanion()).ground(notebook(SOURCE_1), cited(citation("a", "two", 7)), ctx)
    assert trio.current_time() - begun == GROUNDING_S
    assert grounded.citations[0].source_span_reason == NoSourceSpan.TEXT_UNAVAILABLE


async def test_an_answer_that_cites_nothing_is_refused_before_any_reading() -> None:
    companion = FakeCompanion()
    with pytest.raises(UngroundedResponse):
        await Upstream(companion).ground(notebook(SOURCE_1), CitedAnswer("text", "text"), context())
    assert companion.requests == []
