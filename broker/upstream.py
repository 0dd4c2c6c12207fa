"""The service as the tools see it: typed questions in, typed answers out, every refusal one of our errors.

Works over any `broker.companion.Companion`. Reads whose token was refused are tried once more after the page was loaded
anew (C-053); nothing else is ever repeated here. Each write is one request, and its errors say by `definite` whether
the service refused that very request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import trio

from broker import requests
from broker.added_sources import decode_added_source, decode_registered_file
from broker.answer_updates import AnswerUpdates
from broker.batchexecute import decode_reply_untrusted
from broker.calls import CallContext
from broker.citations import CitedAnswer, require_grounded
from broker.companion import Companion, RpcReply
from broker.conversations import Conversation, TurnPage, decode_conversations, decode_turns
from broker.errors import AuthRequired, GatewayError, RateLimited, UpstreamSchemaDrift
from broker.limits import GROUNDING_S, SOURCE_TEXT_CACHE_BYTES, SOURCE_TEXTS_AT_ONCE
from broker.notebooks import GET_RPC, Notebook, Source, decode_notebook, decode_notebook_list
from broker.notes import Note, Notes, decode_created_note, decode_filled_note, decode_notes
from broker.request_budget import RequestBudget
from broker.requests import RpcRequest, SourceSpec
from broker.rpc_status import StaleToken, http_error
from broker.source_guide import SourceGuide, decode_source_guide
from broker.source_spans import GroundedAnswer, grounded_answer
from broker.source_text import RPC as SOURCE_TEXT_RPC
from broker.source_text import SourceText, decode_source_text
from broker.source_text_cache import SourceTextCache
from broker.write_verdicts import maybe_document_refused, pass_verdict


class Upstream:
    """One session's access to the service.

    Raises (all methods): what the companion raises; AuthRequired, RateLimited, NotFound, InvalidArgument and
        UpstreamRejected for the service's refusals; UpstreamSchemaDrift for answers of another shape.
    """

    def __init__(self, companion: Companion, budget: RequestBudget | None = None) -> None:
        """Without a `budget` nothing is counted; `doctor` and tests use that."""
        self._companion = companion
        self._budget = budget
        self._texts = SourceTextCache(SOURCE_TEXT_CACHE_BYTES)

    def __repr__(self) -> str:
        return f"<Upstream over {self._companion!r} {self._texts!r}>"

    async def list_notebooks(self, ctx: CallContext) -> list[Notebook]:
        """Return the notebooks that the extension lets through, last viewed first, each with its sources."""
        return decode_notebook_list(await self._read(requests.list_notebooks(), ctx))

    async def get_notebook(self, notebook_id: str, ctx: CallContext) -> Notebook:
        """Return one notebook with its sources as they are now."""
        notebook = decode_notebook(await self._read(requests.get_notebook(notebook_id), ctx))
        if notebook.id != notebook_id:
            raise UpstreamSchemaDrift(GET_RPC, "$[0][2]", "the notebook that was asked for", "another one")
        return notebook

    async def source_text(
        self, notebook_id: str, source_id: str, ctx: CallContext, *, revision: str | None = None
    ) -> SourceText:
        """Return a source's full text, from memory when that `revision` of it was read before."""
        kept = self._texts.maybe_get(source_id, revision)
        if kept is not None:
            return kept
        text = decode_source_text(await self._read(requests.read_source_text(notebook_id, source_id), ctx))
        if text.source.id != source_id:
            raise UpstreamSchemaDrift(SOURCE_TEXT_RPC, "$[0][0]", "the source that was asked for", "another one")
        self._texts.put(text)
        return text

    async def source_guide(self, notebook_id: str, source_id: str, ctx: CallContext) -> SourceGuide:
        """Return the service's summary and keywords of a source."""
        return decode_source_guide(await self._read(requests.read_source_guide(notebook_id, source_id), ctx))

    async def list_notes(self, notebook_id: str, ctx: CallContext) -> Notes:
        """Return the notebook's notes, and which ids of its list are no notes (any more)."""
        return decode_notes(await self._read(requests.list_notes(notebook_id), ctx))

    async def add_source(self, notebook_id: str, spec: SourceSpec, ctx: CallContext) -> Source:
        """Add one source and return it as it is after the service has read it."""
        try:
            return decode_added_source(await self._write(requests.add_source(notebook_id, spec), ctx))
        except GatewayError as error:
            about_document = maybe_document_refused(spec, error)
            if about_document is None:
                raise
            raise about_document from error

    async def register_file(self, notebook_id: str, name: str, ctx: CallContext) -> str:
        """Make an empty source that a file is then uploaded to; return its id."""
        return decode_registered_file(await self._write(requests.register_file(notebook_id, name), ctx), name)

    async def create_note(self, notebook_id: str, ctx: CallContext) -> str:
        """Make an empty note; return its id."""
        return decode_created_note(await self._write(requests.create_note(notebook_id), ctx))

    async def fill_note(self, notebook_id: str, note_id: str, title: str, text: str, ctx: CallContext) -> Note:
        """Replace a note's title and text as a whole; return the note as the service has it then."""
        note = decode_filled_note(await self._write(requests.fill_note(notebook_id, note_id, title, text), ctx))
        if note.id != note_id:
            raise UpstreamSchemaDrift(requests.FILL_NOTE, "$[0][0]", "the note that was filled", "another one")
        return note

    async def delete_note(self, notebook_id: str, note_id: str, ctx: CallContext) -> None:
        """Delete one note. The service says yes to ids it does not know too, so only its list proves it."""
        await self._write(requests.delete_note(notebook_id, note_id), ctx)

    async def list_conversations(self, notebook_id: str, ctx: CallContext) -> list[Conversation]:
        """Return the notebook's conversations; the service tells only the newest."""
        return decode_conversations(await self._read(requests.list_conversations(notebook_id), ctx))

    async def list_turns(
        self, notebook_id: str, conversation_id: str, ctx: CallContext, *, limit: int = 20, cursor: str | None = None
    ) -> TurnPage:
        """Return one page of a conversation, newest turn first."""
        request = requests.list_turns(notebook_id, conversation_id, limit, cursor)
        return decode_turns(await self._read(request, ctx))

    @asynccontextmanager
    async def ask(
        self, notebook_id: str, question: str, source_ids: Sequence[str], conversation: str | None, ctx: CallContext
    ) -> AsyncGenerator[AnswerUpdates]:
        """Ask one question; the context gives the states of the answer, the last one final.

        Entering waits for the first state. Leaving early cancels the question in the page. `ctx.deadline` bounds the
        whole answer, so give it one that suits a long answer; silence is bounded by `STREAM_IDLE_S` anyway.

        Raises (entering and iterating): see `AnswerUpdates`; and as all methods.
        """
        params = requests.ask_params(notebook_id, question, source_ids, conversation)
        refused: StaleToken | None = None
        for _ in range(2):
            if refused is not None:
                await self._refresh_page(ctx)
            await self._spend(ctx, is_write=False)
            async with self._companion.stream(
                params, notebook=notebook_id, deadline_s=ctx.deadline, traceparent=ctx.traceparent
            ) as chunks:
                updates = AnswerUpdates(chunks, ctx)
                try:
                    await updates.start()
                except StaleToken as error:
                    refused = error
                except RateLimited as error:
                    await self._note(error)
                    raise
                else:
                    yield updates
                    return
        assert refused is not None
        raise _still_refused(requests.STREAM, refused)

    async def ground(self, notebook: Notebook, answer: CitedAnswer, ctx: CallContext) -> GroundedAnswer:
        """Read the cited sources' texts and prove where each quoted passage stands.

        A text that cannot be read in time costs its citations their source span, never the answer.

        Raises:
            UngroundedResponse: the answer cites nothing.
        """
        require_grounded(answer)
        titles = {source.id: source.title for source in notebook.sources}
        wanted = {
            citation.source_id: citation.revision for citation in answer.citations if citation.source_id in titles
        }
        texts = await self._texts_in_time(notebook.id, wanted, ctx.with_timeout(GROUNDING_S))
        return grounded_answer(answer, titles, texts)

    async def _texts_in_time(
        self, notebook_id: str, wanted: Mapping[str, str | None], ctx: CallContext
    ) -> dict[str, SourceText]:
        """Read sources side by side (id to revision); those that fail or come too late are missing from the result."""
        texts: dict[str, SourceText] = {}
        limiter = trio.CapacityLimiter(SOURCE_TEXTS_AT_ONCE)

        async def read(source_id: str) -> None:
            async with limiter:
                try:
                    text = await self.source_text(notebook_id, source_id, ctx, revision=wanted[source_id])
                except GatewayError:
                    # The citation will say that the text was not available; the answer itself is whole.
                    return
                texts[source_id] = text

        with trio.move_on_at(ctx.deadline):
            async with trio.open_nursery() as nursery:
                for source_id in wanted:
                    nursery.start_soon(read, source_id)
        return texts

    async def _read(self, request: RpcRequest, ctx: CallContext) -> object:
        """Send a read and return its decoded result; once more when the page's token was refused."""
        try:
            return await self._read_once(request, ctx)
        except StaleToken:
            await self._refresh_page(ctx)
        try:
            return await self._read_once(request, ctx)
        except StaleToken as error:
            raise _still_refused(request.rpc_id, error) from error

    async def _read_once(self, request: RpcRequest, ctx: CallContext) -> object:
        await self._spend(ctx, is_write=False)
        reply = await self._send(request, ctx)
        try:
            return _result_of(request, reply)
        except RateLimited as error:
            await self._note(error)
            raise

    async def _write(self, request: RpcRequest, ctx: CallContext) -> object:
        """Send a write once and return its decoded result.

        Raises: as all methods; the error's `definite` is True when the service refused this very request.
        """
        await self._spend(ctx, is_write=True)
        try:
            reply = await self._send(request, ctx)
        except GatewayError as error:
            pass_verdict(request.rpc_id, None, error)
            raise
        try:
            return _result_of(request, reply)
        except GatewayError as error:
            pass_verdict(request.rpc_id, reply.status, error)
            await self._note(error)
            raise

    async def _spend(self, ctx: CallContext, *, is_write: bool) -> None:
        if self._budget is not None:
            await self._budget.spend(ctx, is_write=is_write)

    async def _note(self, error: GatewayError) -> None:
        if self._budget is not None:
            await self._budget.note(error)

    async def _send(self, request: RpcRequest, ctx: CallContext) -> RpcReply:
        reply = await self._companion.rpc(
            request.rpc_id,
            request.params,
            notebook=request.notebook,
            deadline_s=ctx.deadline,
            traceparent=ctx.traceparent,
        )
        ctx.add_hops(reply.hops)
        return reply

    async def _refresh_page(self, ctx: CallContext) -> None:
        await self._companion.identity(refresh=True, deadline_s=ctx.deadline, traceparent=ctx.traceparent)


def _result_of(request: RpcRequest, reply: RpcReply) -> object:
    if reply.status != 200:
        raise http_error(request.rpc_id, reply.status, reply.retry_after_s)
    return decode_reply_untrusted(reply.body, request.rpc_id)


def _still_refused(rpc_id: str, error: StaleToken) -> AuthRequired:
    return AuthRequired(
        f"{rpc_id}: the service refused the page's session again after the page was loaded anew", details=error.details
    )
