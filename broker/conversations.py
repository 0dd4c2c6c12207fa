"""Conversations of a notebook and their turns: ``hPTbtc`` and ``khqZz`` (wire reference, 8.4).

Pure. ``khqZz`` is only reported publicly; no recording holds one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from attrs import field, frozen

from broker.notebooks import maybe_time, read_id
from broker.slots import Slot

LIST_RPC: Final = "hPTbtc"
TURNS_RPC: Final = "khqZz"

Speaker = Literal["person", "model", "unknown"]
SPEAKERS: Final[dict[int, Speaker]] = {1: "person", 2: "model"}


@frozen
class Conversation:
    """One conversation; the times are only in answers since October 2026."""

    id: str
    created_at: datetime | None
    updated_at: datetime | None


@frozen
class Turn:
    """A question or an answer. `text` is None for kinds we do not know."""

    id: str
    at: datetime | None
    speaker: Speaker
    kind_code: int | None
    text: str | None = field(repr=False)


@frozen
class TurnPage:
    """Turns, newest first; `cursor` asks for the next page and is None on the last."""

    turns: tuple[Turn, ...]
    cursor: str | None


def decode_conversations(payload: object) -> list[Conversation]:
    """Decode ``[[[id, created?, updated?], …]]``; no conversation is an empty answer.

    Raises:
        UpstreamSchemaDrift: another shape.
    """
    rows = Slot(payload, LIST_RPC).maybe_list(0)
    if rows is None:
        return []
    return [Conversation(read_id(row, 0), maybe_time(row, 1), maybe_time(row, 2)) for row in rows.lists()]


def decode_turns(payload: object) -> TurnPage:
    """Decode ``[[[id, time, kind, question?, [answer record]?], …], cursor?]``.

    Raises:
        UpstreamSchemaDrift: another shape.
    """
    answer = Slot(payload, TURNS_RPC)
    rows = answer.maybe_list(0)
    turns = () if rows is None else tuple(_decode_turn(row) for row in rows.lists())
    return TurnPage(turns, answer.maybe_text(1) or None)


def _decode_turn(row: Slot) -> Turn:
    kind_code = row.maybe_int(2)
    speaker = SPEAKERS.get(kind_code or 0, "unknown")
    text: str | None = None
    if speaker == "person":
        text = row.text(3)
    elif speaker == "model":
        text = row.list_at(4).list_at(0).text(0)
    return Turn(row.text(0), maybe_time(row, 1), speaker, kind_code, text)
