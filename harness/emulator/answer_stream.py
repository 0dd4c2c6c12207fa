"""The streamed answer to a question, from its nine slots to its closing row (wire reference §8.1, §8.2)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Final, TypeVar

import trio
from attrs import frozen

from harness.emulator import faults
from harness.emulator.answer_chunks import AnswerChunk, chunk_value, shift_spans, stored_record, thinking_value
from harness.emulator.answers import (
    CitedPassage,
    RenderedAnswer,
    compose,
    follow_ups,
    growth,
    render,
    thinking_notes,
    without_citations,
)
from harness.emulator.drift import drifted
from harness.emulator.framing import BodyWriter, bookkeeping_rows
from harness.emulator.model import Account, Conversation, Notebook, Source, Turn
from harness.emulator.params import INVALID_ARGUMENT, Denied
from harness.emulator.state import ServiceState, now
from harness.emulator.wire_json import Json, result_text

MAX_QUESTION_CHARACTERS: Final = 5500
"""About 10,000 are refused [recorded]; the ceiling is reported near 5,500."""
MAX_PASSAGES: Final = 5
REPEATED_CHUNKS: Final = 3
"""The last three chunks have the same text and the same chunk ids; the last of them is final [recorded]."""
_Effect = TypeVar("_Effect", bound=faults.Effect)


@frozen
class Question:
    """A checked request: where it is asked, over which sources, and what."""

    notebook: Notebook
    sources: list[Source]
    text: str
    conversation_id: str | None


def parse_question(state: ServiceState, account: Account, params: list[Json]) -> Question:
    """Check the slots of the request; old pages send five of them, new ones nine.

    Raises:
        Denied: 3 for a wrong slot, no sources or an oversized question; 5 and 7 for ids that this account cannot see.
    """
    match params:
        case [list(scope), str(text), None | list(), [2, None, [1]], None | str() as conversation_id]:
            notebook_id = None
        case [
            list(scope),
            str(text),
            None | list(),
            [2, None, [1], [1]],
            None | str() as conversation_id,
            None,
            None,
            str(notebook_id),
            1,
        ]:
            pass
        case _:
            raise Denied(INVALID_ARGUMENT)
    notebook = None if notebook_id is None else state.notebook_for(notebook_id, account.email)
    sources: list[Source] = []
    for entry in scope:
        match entry:
            case [[str(source_id)]]:
                home, source = state.source_for(source_id, account.email)
            case _:
                raise Denied(INVALID_ARGUMENT)
        notebook = notebook or home
        if home is not notebook:
            raise Denied(INVALID_ARGUMENT)
        sources.append(source)
    if notebook is None or not sources or not text.strip() or len(text) > MAX_QUESTION_CHARACTERS:
        raise Denied(INVALID_ARGUMENT)
    return Question(notebook, sources, text, conversation_id)


def retrieve(state: ServiceState, question: Question) -> list[CitedPassage]:
    """Return the passages in scope that match, best first."""
    by_id = {source.id: source for source in question.sources}
    found = state.passages.search(question.text, by_id.keys(), limit=MAX_PASSAGES)
    return [CitedPassage(by_id[passage.source_id], passage) for passage in found]


def open_stream(
    state: ServiceState, account: Account, params: list[Json], effects: Sequence[faults.Effect], serial: int
) -> AsyncGenerator[bytes]:
    """Check the request now, and return the pieces of the answer's body, each ready when it is produced.

    Raises:
        NoSuchSlot: a drift fault names a slot that the answer does not have.
    """
    rows: list[list[Json]]
    turn: tuple[Conversation, Turn, Turn] | None = None
    if status := _first(effects, faults.Status):
        rows = [_status_row(status.as_list())]
    elif _first(effects, faults.NoData):
        rows = []
    else:
        try:
            question = parse_question(state, account, params)
            talk = state.conversation_for_ask(question.conversation_id, question.notebook.id, account.email)
        except Denied as denied:
            rows = [_status_row([denied.status])]
        else:
            values, turn = answer_values(state, question, talk, effects)
            rows = [["wrb.fr", None, result_text(value)] for value in values]
    writer = BodyWriter(bare_lengths=_first(effects, faults.BareLengths) is not None)
    return _paced(writer, rows, state.options.chunk_delay_ms / 1000, serial, turn)


async def _paced(
    writer: BodyWriter,
    rows: Iterable[list[Json]],
    delay_s: float,
    serial: int,
    turn: tuple[Conversation, Turn, Turn] | None,
) -> AsyncGenerator[bytes]:
    piece = writer.start()
    for number, row in enumerate(rows):
        if number:
            await trio.sleep(delay_s)
        yield (piece + writer.chunk([row])).encode()
        piece = ""
    if turn is not None:
        talk, asked, answered = turn
        talk.turns += [asked, answered]
    yield (piece + writer.chunk(bookkeeping_rows(100, serial)) + writer.close()).encode()


def answer_values(
    state: ServiceState, question: Question, talk: Conversation, effects: Sequence[faults.Effect]
) -> tuple[list[Json], tuple[Conversation, Turn, Turn]]:
    """Return the inner value of every chunk, and the two turns to remember once all have been sent."""
    cited = retrieve(state, question)
    turn_id = str(uuid.uuid4())
    identity: list[Json] = [question.conversation_id or talk.id, turn_id, 1 + uuid.uuid4().int % 2**31]
    values = [thinking_value(title, text, identity) for title, text in thinking_notes(question.text, cited)]
    draft = compose(question.text, question.notebook.title, cited)
    versions = [render(version) for version in growth(draft)]
    versions[-1] = _final_version(versions[-1], render(without_citations(draft)), _first(effects, faults.Ungrounded))
    chunks = [AnswerChunk.fresh(version, cited, identity) for version in versions]
    chunks += chunks[-1:] * (REPEATED_CHUNKS - 1)
    values += [chunk_value(chunk) for chunk in chunks[:-1]]
    questions = None if _first(effects, faults.NoFinalMarker) else follow_ups(question.notebook.title, cited)
    values.append(chunk_value(chunks[-1], questions))
    for effect in effects:
        match effect:
            case faults.ShiftSpans():
                values = [shift_spans(value, effect) for value in values]
            case faults.Drift(chunks="final"):
                values[-1] = drifted(values[-1], effect)
            case faults.Drift():
                values = [drifted(value, effect) for value in values]
            case _:
                pass
    asked = Turn(str(uuid.uuid4()), now(), question=question.text)
    answered = Turn(turn_id, now(), answer=stored_record(chunks[-1]))
    return values, (talk, asked, answered)


def _final_version(
    whole: RenderedAnswer, uncited: RenderedAnswer, ungrounded: faults.Ungrounded | None
) -> RenderedAnswer:
    if ungrounded is None:
        return whole
    markdown = whole.markdown if ungrounded.keep_markers else uncited.markdown
    return RenderedAnswer(markdown, uncited.document, ())


def _status_row(status: list[Json]) -> list[Json]:
    """Return the six slots of a refused question [recorded]."""
    return ["wrb.fr", None, None, None, None, status]


def _first(effects: Sequence[faults.Effect], kind: type[_Effect]) -> _Effect | None:
    return next((effect for effect in effects if isinstance(effect, kind)), None)
