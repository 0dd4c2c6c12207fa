"""What the emulated service knows: accounts, notebooks, sources, notes, conversations and browser sessions.

Plain data without behaviour; ``state`` changes it and ``rows`` puts it into the shapes of the wire.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import Final, TypeAlias

from attrs import define, field, frozen

from harness.emulator.document import Document, word_count
from harness.emulator.wire_json import Json

DEFAULT_SOURCE_LIMIT: Final = 300

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
    """``[2][4]`` of a source row."""

    UNKNOWN = 0
    """Registered, bytes not there yet."""
    GOOGLE_DOCS = 1
    GOOGLE_SLIDES = 2
    PDF = 3
    TEXT = 4
    WEB_PAGE = 5
    POWERPOINT = 6
    GOOGLE_SHEETS = 7
    MARKDOWN = 8
    YOUTUBE = 9
    MEDIA = 10
    WORD = 11
    IMAGE = 13
    OTHER_DRIVE_FILE = 14
    CSV = 16
    EPUB = 17


class NoteKind(IntEnum):
    """``meta[0]`` of a note."""

    WRITTEN = 1
    GENERATED = 2
    """Saved from a chat, or a mind map."""


@frozen
class Account:
    email: str
    user_id: str
    """21 digits."""


@frozen
class Reading:
    """How the service reads one source. The default is to read it well, in the time that its kind takes."""

    seconds: float | None = None
    """How long it takes; null is the kind's own time."""
    never_ends: bool = False
    meanwhile: int = SourceState.PROCESSING
    outcome: int = SourceState.READY
    reason: int | None = None
    """The number of a failed fetch, with ``outcome`` ERROR."""
    script: tuple[int | None, ...] = ()
    """Instead of all that: the state that each look at the notebook finds (the last one stays); null, no row."""


@define(slots=False)
class Source:
    id: str
    title: str
    text: str
    """Our small Markdown, see ``document``; the wire sees only the tree made from it."""
    type: SourceType
    state: int
    """A ``SourceState``, or whatever number a test wants to be seen."""
    added: Timestamp
    revision_id: str
    revised: Timestamp
    url: str | None = None
    summary: str = ""
    keywords: tuple[str, ...] = ()
    plain: bool = False
    """The text is no Markdown: it reads back line by line as it came."""
    drive: DriveFile | None = None
    failure: int | None = None
    awaits_bytes: Reading | None = None
    """Set while a registered file has not been uploaded: how it will be read when its bytes are there."""
    reading: Reading | None = None
    """Set while the service reads it."""
    looks: int = 0
    """How often its notebook was looked at since the reading began."""

    @cached_property
    def document(self) -> Document:
        return Document.plain(self.text) if self.plain else Document.parse(self.text)

    def set_text(self, text: str, *, plain: bool) -> None:
        """Take the text of a file whose bytes have come."""
        self.text, self.plain = text, plain
        self.__dict__.pop("document", None)  # what `cached_property` keeps

    @property
    def words(self) -> int:
        return word_count(self.document.blocks)


@frozen
class DriveFile:
    """A document in somebody's Drive, found by ``id``; the service reads its own title and text there."""

    id: str
    mime_type: str
    title: str
    text: str


@frozen
class WebPage:
    """What a web address leads to."""

    title: str
    text: str


@define
class Note:
    id: str
    title: str
    text: str
    changed: Timestamp
    author_id: str
    """The account's 21 digits."""
    kind: NoteKind = NoteKind.WRITTEN
    mapped_sources: tuple[str, ...] = ()
    """The sources of a mind map; empty for every other note."""
    deleted: bool = False
    """A deleted note keeps its place in the list for good."""


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
    source_limit: int = DEFAULT_SOURCE_LIMIT

    @property
    def is_full(self) -> bool:
        return len(self.sources) >= self.source_limit

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
    has_consented: bool = False
