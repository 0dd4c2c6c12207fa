"""What the emulated service knows: accounts, notebooks, sources, notes, conversations and browser sessions.

Plain data without behaviour; ``state`` changes it and ``rows`` puts it into the shapes of the wire.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import TypeAlias

from attrs import define, field, frozen

from harness.emulator.document import Document, word_count
from harness.emulator.wire_json import Json

Timestamp: TypeAlias = tuple[int, int]
"""Seconds since the epoch and nanoseconds."""


class Role(IntEnum):
    OWNER = 1
    EDITOR = 2
    VIEWER = 3


class SourceState(IntEnum):
    """``[3][1]`` of a source row."""

    PROCESSING = 1
    READY = 2
    ERROR = 3
    PREPARING = 5


class SourceType(IntEnum):
    """``[2][4]`` of a source row; only the kinds that the seed holds."""

    PDF = 3
    TEXT = 4
    WEB_PAGE = 5
    MARKDOWN = 8
    YOUTUBE = 9


@frozen
class Account:
    email: str
    user_id: str
    """21 digits."""


@define(slots=False)
class Source:
    id: str
    title: str
    text: str
    """Our small Markdown, see ``document``; the wire sees only the tree made from it."""
    type: SourceType
    state: SourceState
    added: Timestamp
    revision_id: str
    revised: Timestamp
    url: str | None = None
    summary: str = ""
    keywords: tuple[str, ...] = ()

    @cached_property
    def document(self) -> Document:
        return Document.parse(self.text)

    @property
    def words(self) -> int:
        return word_count(self.document.blocks)


@define
class Note:
    id: str
    title: str
    text: str
    created: Timestamp


@define
class Notebook:
    id: str
    title: str
    emoji: str
    owner: str
    """The owner's e-mail address."""
    created: Timestamp
    last_viewed: Timestamp
    sources: list[Source] = field(factory=list[Source])
    notes: list[Note] = field(factory=list[Note])
    shared_with: dict[str, Role] = field(factory=dict[str, Role])

    def role_of(self, email: str) -> Role | None:
        """Return how an account may use this notebook; None when it may not see it at all."""
        return Role.OWNER if email == self.owner else self.shared_with.get(email)


@frozen
class Turn:
    """One message. ``answer`` is the stored answer record of a kind 2 turn."""

    id: str
    at: Timestamp
    question: str | None = None
    answer: list[Json] | None = None


@define
class Conversation:
    id: str
    email: str
    notebook_id: str
    created: Timestamp
    turns: list[Turn] = field(factory=list[Turn])
    """Oldest first."""


@define
class Session:
    """One browser's sign-in. The place in ``emails`` is the ``authuser`` index, so it shifts when one signs out."""

    token: str
    emails: list[str]
