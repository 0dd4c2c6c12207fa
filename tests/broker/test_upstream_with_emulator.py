"""Our client beside our emulator: neither imports the other, both are held to the recordings, here they meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from broker.answer_stream import Phase
from broker.calls import CallContext
from broker.errors import InvalidArgument, NotFound, RateLimited, StreamSevered, UngroundedResponse, UpstreamSchemaDrift
from broker.notebooks import Notebook
from broker.requests import DriveSpec, SourceSpec, TextSpec, WebSpec, YouTubeSpec
from broker.source_spans import GroundedAnswer
from broker.upstream import Upstream
from harness.emulator import faults
from harness.emulator.state import ServiceState
from tests.broker.emulator_companion import EmulatorCompanion

pytestmark = pytest.mark.usefixtures("autojump_clock")


@pytest.fixture
def companion() -> Iterator[EmulatorCompanion]:
    state = ServiceState()
    yield EmulatorCompanion(state)
    state.close()


def context() -> CallContext:
    return CallContext.starting_now(600, "00-trace")


async def ask(upstream: Upstream, notebook: Notebook, question: str, source_ids: list[str]) -> GroundedAnswer:
    ctx = context()
    async with upstream.ask(notebook.id, question, source_ids, None, ctx) as updates:
        states = [state async for state in updates]
    final = states[-1]
    assert final.phase == Phase.FINAL
    assert final.answer is not None
    return await upstream.ground(notebook, final.answer, ctx)


async def first_question(upstream: Upstream) -> tuple[Notebook, str, list[str]]:
    """Return a notebook and a question that its first ready source answers: the source's own title."""
    for notebook in await upstream.list_notebooks(context()):
        ready = [source for source in notebook.sources if source.state == "ready"]
        if ready:
            return notebook, f"What does {ready[0].title} say?", [source.id for source in ready]
    raise AssertionError("the seed has no ready source")


async def test_every_seeded_notebook_reads_the_same_alone_and_in_the_list(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebooks = await upstream.list_notebooks(context())
    assert len(notebooks) >= 3
    for notebook in notebooks:
        assert await upstream.get_notebook(notebook.id, context()) == notebook


async def test_every_cited_passage_is_proven_in_every_source(companion: EmulatorCompanion) -> None:
    """Also in the source with emoji, combining marks and right-to-left text."""
    upstream = Upstream(companion)
    proven = 0
    beyond_bmp = False
    for notebook in await upstream.list_notebooks(context()):
        ready = [source for source in notebook.sources if source.state == "ready"]
        for source in ready[:5]:
            text = await upstream.source_text(notebook.id, source.id, context())
            beyond_bmp |= text.index.length_utf16 > len(text.text)
            words = [word for word in text.text.split() if word.isalpha() and len(word) > 3]
            grounded = await ask(upstream, notebook, " ".join(words[:12]), [source.id])
            for citation in grounded.citations:
                assert citation.source_span_reason is None
                assert citation.source_span is not None
                assert citation.source_span.of(text.text) == citation.quote
                assert citation.source_title == source.title
                assert all(span.of(grounded.text) for span in citation.answer_spans)
                proven += 1
    assert proven >= 10
    assert beyond_bmp


@pytest.mark.parametrize("place", ["runs", "markers", "citations"])
@pytest.mark.parametrize("by", [-1, 1, 5])
async def test_each_place_that_carries_spans_shifted_alone_is_drift(
    companion: EmulatorCompanion, place: str, by: int
) -> None:
    upstream = Upstream(companion)
    notebook, question, source_ids = await first_question(upstream)
    companion.effects = [faults.ShiftSpans(place=place, by=by)]  # pyright: ignore[reportArgumentType]  # a parametrized literal
    with pytest.raises(UpstreamSchemaDrift):
        await ask(upstream, notebook, question, source_ids)
    companion.effects = []
    assert (await ask(upstream, notebook, question, source_ids)).citations


async def test_what_the_service_may_do_to_a_question(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, question, source_ids = await first_question(upstream)
    for effect, error in (
        (faults.Status(code=8), RateLimited),
        (faults.NoData(), RateLimited),
        (faults.NoFinalMarker(), StreamSevered),
        (faults.Ungrounded(), UngroundedResponse),
    ):
        companion.effects = [effect]
        with pytest.raises(error):
            await ask(upstream, notebook, question, source_ids)
    companion.effects = []
    with pytest.raises(InvalidArgument):
        await ask(upstream, notebook, "why " * 2500, source_ids)


async def test_history_holds_the_question_and_the_answer(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, question, source_ids = await first_question(upstream)
    assert await upstream.list_conversations(notebook.id, context()) == []
    grounded = await ask(upstream, notebook, question, source_ids)
    (conversation,) = await upstream.list_conversations(notebook.id, context())
    page = await upstream.list_turns(notebook.id, conversation.id, context(), limit=1)
    assert [(turn.speaker, turn.text) for turn in page.turns] == [("model", grounded.markdown)]
    rest = await upstream.list_turns(notebook.id, conversation.id, context(), limit=1, cursor=page.cursor)
    assert [(turn.speaker, turn.text) for turn in rest.turns] == [("person", question)]
    assert rest.cursor is None


async def test_unknown_ids_are_not_found_and_guides_are_read(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, _, source_ids = await first_question(upstream)
    guide = await upstream.source_guide(notebook.id, source_ids[0], context())
    assert guide.summary
    assert guide.keywords
    with pytest.raises(NotFound):
        await upstream.get_notebook("00000000-0000-4000-8000-000000000000", context())
    await trio.lowlevel.checkpoint()


async def test_a_note_lives_from_its_creation_to_its_stub(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, _, _ = await first_question(upstream)
    before = await upstream.list_notes(notebook.id, context())
    note_id = await upstream.create_note(notebook.id, context())
    filled = await upstream.fill_note(notebook.id, note_id, "Title 😀", "Text\nwith lines", context())
    after = await upstream.list_notes(notebook.id, context())
    assert [note for note in after.notes if note not in before.notes] == [filled]
    assert (filled.id, filled.title, filled.text, filled.kind) == (note_id, "Title 😀", "Text\nwith lines", "note")
    await upstream.delete_note(notebook.id, note_id, context())
    end = await upstream.list_notes(notebook.id, context())
    assert end.notes == before.notes
    assert end.deleted == before.deleted | {note_id}
    assert companion.rpc_ids.count("tGMBJ") == 0


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (TextSpec("Pasted", "Some words of text."), "text"),
        (WebSpec("https://example.com/page"), "web_page"),
        (YouTubeSpec("https://www.youtube.com/watch?v=dQw4w9WgXcQ"), "youtube"),
    ],
)
async def test_an_added_source_is_in_the_notebook_as_it_was_answered(
    companion: EmulatorCompanion, spec: SourceSpec, kind: str
) -> None:
    upstream = Upstream(companion)
    notebook, _, _ = await first_question(upstream)
    source = await upstream.add_source(notebook.id, spec, context())
    listed = {row.id: row for row in (await upstream.get_notebook(notebook.id, context())).sources}
    assert source.kind == kind
    assert listed.keys() - {row.id for row in notebook.sources} == {source.id}
    assert (listed[source.id].title, listed[source.id].url) == (source.title, source.url)


async def test_a_registered_file_is_a_row_in_preparation(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, _, _ = await first_question(upstream)
    source_id = await upstream.register_file(notebook.id, "report 😀.pdf", context())
    (row,) = [row for row in (await upstream.get_notebook(notebook.id, context())).sources if row.id == source_id]
    assert (row.title, row.state) == ("report 😀.pdf", "preparing")


async def test_a_drive_document_is_known_by_its_id(companion: EmulatorCompanion) -> None:
    upstream = Upstream(companion)
    notebook, _, _ = await first_question(upstream)
    spec = DriveSpec("1DocumentId", "application/vnd.google-apps.document", "ignored")
    source = await upstream.add_source(notebook.id, spec, context())
    assert source.title != "ignored"
    assert (source.kind, source.drive_file_id) == ("google_docs", "1DocumentId")
