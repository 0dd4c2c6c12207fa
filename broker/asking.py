"""Ask one question: wait for its sources, follow the stream to its final state, prove the citations (ADR-015)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from broker.answer_stream import Phase
from broker.calls import CallContext
from broker.citations import CitedAnswer
from broker.errors import AllowlistDenied, StreamSevered
from broker.forgotten_ids import is_forgotten_id
from broker.published_answer import answer_facts
from broker.query_runs import Result
from broker.readiness import Scope, wait_for_scope
from broker.session import Session


async def ask(
    session: Session,
    notebook_id: str,
    question: str,
    source_ids: Sequence[str] | None,
    ctx: CallContext,
    set_partial_text: Callable[[str], None],
) -> Result:
    """Return the answer as published. Nothing is sent before every targeted source is ready (C-080).

    Raises: what `wait_for_scope` and `broker.upstream.Upstream` raise; UngroundedResponse for an answer that cites
        nothing.
    """
    scope = await wait_for_scope(lambda: session.upstream.get_notebook(notebook_id, ctx), source_ids, rng=session.rng)
    async with _conversation(session) as conversation:
        try:
            answer = await _follow(session, scope, question, conversation, ctx, set_partial_text)
        except AllowlistDenied as error:
            if conversation is None or not is_forgotten_id(error):
                raise
            answer = await _follow(session, scope, question, None, ctx, set_partial_text)
    grounded = await session.upstream.ground(scope.notebook, answer, ctx)
    result: Result = {**answer_facts(grounded), "sources_asked": [source.id for source in scope.sources]}
    if scope.left_out:
        result["sources_left_out"] = [source.id for source in scope.left_out]
    return result


async def _follow(
    session: Session,
    scope: Scope,
    question: str,
    conversation: str | None,
    ctx: CallContext,
    set_partial_text: Callable[[str], None],
) -> CitedAnswer:
    """Follow the stream to its final state. Thinking is neither answer nor partial answer (C-062)."""
    answer: CitedAnswer | None = None
    asked = [source.id for source in scope.sources]
    async with session.upstream.ask(scope.notebook.id, question, asked, conversation, ctx) as updates:
        async for state in updates:
            if state.phase is not Phase.THINKING:
                set_partial_text(state.text)
            answer = state.answer or answer
        session.conversation = updates.conversation or session.conversation
    if answer is None:
        raise StreamSevered("The answer ended without its final state.")
    return answer


@asynccontextmanager
async def _conversation(session: Session) -> AsyncGenerator[str | None]:
    """Give the conversation to ask in. The first question opens it, alone, so that a process has one, not several."""
    if session.conversation is None:
        async with session.opening_conversation:
            if session.conversation is None:
                yield None
                return
    yield session.conversation
