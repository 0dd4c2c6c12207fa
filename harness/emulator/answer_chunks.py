"""One chunk of a streamed answer as the wire has it: answer record, citations, spans, follow-ups (reference §8). Pure.

E = [A, citations, spans, null, false]                     while the answer grows
E = [A, citations, spans, [questions], true, [[q, 9] …]]   the last chunk only
A = [Markdown, null, [session, turn, number], null, [[elements, annotations?], null, null, objects, kind]]
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Sequence
from typing import Final, cast

from attrs import frozen

from harness.emulator.answers import CitedPassage, RenderedAnswer
from harness.emulator.document import Block, Document, Run
from harness.emulator.faults import ShiftSpans
from harness.emulator.wire_json import Json

ANSWER: Final = 1
THINKING: Final = 2
FOLLOW_UP_KIND: Final = 9


@frozen
class AnswerChunk:
    """A version of the answer with the chunk ids under which its citations go."""

    answer: RenderedAnswer
    cited: tuple[CitedPassage, ...]
    chunk_ids: tuple[str, ...]
    identity: list[Json]

    @classmethod
    def fresh(cls, answer: RenderedAnswer, cited: Sequence[CitedPassage], identity: list[Json]) -> AnswerChunk:
        """Take the citations that this version uses, under new ids."""
        used = tuple(cited[: answer.citation_count])
        return cls(answer, used, tuple(str(uuid.uuid4()) for _ in used), identity)


def chunk_value(chunk: AnswerChunk, questions: list[str] | None = None) -> Json:
    """Return the inner value ``E``; with ``questions`` it is the final one."""
    citations: list[Json] = [
        citation(entry, chunk_id) for entry, chunk_id in zip(chunk.cited, chunk.chunk_ids, strict=True)
    ]
    spans: list[Json] = [[[None, span.start, span.end], list(span.citations)] for span in chunk.answer.spans]
    head: list[Json] = [answer_record(chunk), citations or None, spans or None]
    if questions is None:
        return [*head, None, False]
    return [*head, [list[Json](questions)], True, [[[question, FOLLOW_UP_KIND] for question in questions]]]


def answer_record(chunk: AnswerChunk) -> list[Json]:
    """Return ``A``; its annotations say the same as ``E[2]``, one entry per span and citation."""
    body: list[Json] = [chunk.answer.document.elements(answer=True)]
    annotations: list[Json] = [
        [[chunk.chunk_ids[index]], [None, span.start, span.end]]
        for span in chunk.answer.spans
        for index in span.citations
    ]
    if annotations:
        body.append(annotations)
    objects: list[Json] = [
        [[chunk_id], citation(entry, chunk_id)] for entry, chunk_id in zip(chunk.cited, chunk.chunk_ids, strict=True)
    ]
    return [chunk.answer.markdown, None, chunk.identity, None, [body, None, None, objects or None, ANSWER]]


def stored_record(chunk: AnswerChunk) -> list[Json]:
    """Return the record that the history keeps: one element more than the streamed one [reported], before the tree."""
    *head, tree = answer_record(chunk)
    return [*head, None, tree]


def citation(entry: CitedPassage, chunk_id: str) -> Json:
    """Return one citation: where it stands in its source, and the slice of the source that says so."""
    document, passage = entry.source.document, entry.passage
    span: Json = [None, document.starts[passage.first], document.starts[passage.last]]
    elements = document.elements(passage.first, passage.last)
    origin: Json = [[entry.source.id], entry.source.revision_id]
    return [None, None, passage.score, [span], [elements], [origin], [chunk_id]]


def thinking_value(title: str, text: str, identity: list[Json]) -> Json:
    """Return a thinking note: a complete short text of its own, title in bold."""
    document = Document((Block((Run(title, bold=True),)), Block((Run(text),))))
    tree: Json = [[document.elements(answer=True)], None, None, None, THINKING]
    return [[f"**{title}**\n\n{text}\n\n\n", None, identity, None, tree], None, None, None, False]


def shift_spans(value: Json, shift: ShiftSpans) -> Json:
    """Move one of the three places that carry answer spans, in a copy."""
    moved = cast("list[list[list[list[Json]]]]", copy.deepcopy(value))
    body = moved[0][4][0]
    if shift.place == "runs":
        _shift_elements(cast("list[list[Json]]", body[0]), shift.by)
    elif shift.place == "markers":
        for span, _ in cast("list[list[list[int]]]", moved[2] or []):
            _shift(span, shift.by)
    elif len(body) > 1:
        for _, span in cast("list[list[list[int]]]", body[1]):
            _shift(span, shift.by)
    return cast("Json", moved)


def _shift(span: list[int], by: int) -> None:
    span[1] += by
    span[2] += by


def _shift_elements(elements: list[list[Json]], by: int) -> None:
    for element in elements:
        ranges = [element, *cast("list[list[list[Json]]]", element[2])[0]]
        for item in cast("list[list[int]]", ranges):
            item[0] += by
            item[1] += by
