"""The world the emulator starts with: two accounts and their notebooks, with fixed ids.

All texts are our own. ``seed_texts/keeper-voices.md`` holds emoji (also joined and with modifiers), combining marks and
right-to-left text on purpose: the demo question is answered from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from attrs import define, field, frozen

from harness.emulator.model import Account, Note, Notebook, NoteKind, Role, Source, SourceState, SourceType, Timestamp

ADA: Final = Account("ada@example.com", "100000000000000000011")
GRACE: Final = Account("grace@example.com", "100000000000000000022")

LIGHTHOUSE_ID: Final = "1a9e7e00-0001-4a00-8b00-000000000001"
SOURDOUGH_ID: Final = "1a9e7e00-0002-4a00-8b00-000000000002"
TRAMS_ID: Final = "1a9e7e00-0003-4a00-8b00-000000000003"
EMPTY_PLAN_ID: Final = "1a9e7e00-0004-4a00-8b00-000000000004"
GARDEN_PLAN_ID: Final = "1a9e7e00-0005-4a00-8b00-000000000005"
UNLISTED_ID: Final = "1a9e7e00-0006-4a00-8b00-000000000006"
FESTIVAL_ID: Final = "1a9e7e00-0007-4a00-8b00-000000000007"
FOREIGN_ID: Final = "1a9e7e00-0008-4a00-8b00-000000000008"

OWN_CHAT_ID: Final = "1a9e7e00-0001-4c00-8b00-000000000001"
"""Ada's own chat in the lighthouse notebook."""
FOREIGN_CHAT_ID: Final = "1a9e7e00-0008-4c00-8b00-000000000008"
"""Grace's chat in her private notebook."""

LIGHTHOUSE_TITLE: Final = "Lantern Rock 🗼 restoration"
AMBIGUOUS_TITLE: Final = "Plan"

DEFAULT_ALLOWED: Final = (LIGHTHOUSE_ID, SOURDOUGH_ID, TRAMS_ID, EMPTY_PLAN_ID, GARDEN_PLAN_ID)
"""What Ada allows by default. Not in it: her own `Ledger` and the shared `Harbour festival`."""

DEMO_NOTEBOOK_ID: Final = LIGHTHOUSE_ID
DEMO_QUESTION: Final = "Why did the lens stop turning, and how was it repaired?"

TRAM_STOPS: Final = 120
_SEED_TIME_S: Final = 1_790_000_000
"""September 2026. Everything is stamped from here on, so that two runs give the same rows."""
_LINES: Final = ("1 Harbour", "4 Hospital", "7 Mill Hill", "9 Ring")
_TRAM_FINDINGS: Final = (
    "the timetable allows 40 seconds for doors, the median stop takes 52",
    "late running starts two stops earlier than the depot believed",
    "a signal two hundred metres away holds every second tram",
    "school hours move the peak by twenty minutes",
    "the low platform adds half a minute with each pram or wheelchair",
)


@frozen
class SeedChat:
    """A question that a person asked in the web page."""

    conversation_id: str
    email: str
    notebook_id: str
    question: str


@define
class World:
    """The contents of one emulated service. Order of ``accounts`` is the default order of sign-in."""

    accounts: list[Account] = field(factory=list[Account])
    notebooks: list[Notebook] = field(factory=list[Notebook])
    chats: list[SeedChat] = field(factory=list[SeedChat])


def seed_text(name: str) -> str:
    """Read one of the seed's texts (package data)."""
    return (files("harness.emulator") / "seed_texts" / f"{name}.md").read_text(encoding="utf-8")


def default_world() -> World:
    """Build the default world afresh; nothing in it is shared between two calls."""
    stamps = _stamps()
    notebooks = [
        _notebook(LIGHTHOUSE_ID, LIGHTHOUSE_TITLE, "🗼", ADA, stamps, _lighthouse_sources(stamps)),
        _notebook(SOURDOUGH_ID, "Sourdough field notes", "🍞", ADA, stamps, _sourdough_sources(stamps)),
        _notebook(TRAMS_ID, "Tram timetable study", "🚋", ADA, stamps, _tram_sources(stamps)),
        _notebook(EMPTY_PLAN_ID, AMBIGUOUS_TITLE, "", ADA, stamps, []),
        _notebook(GARDEN_PLAN_ID, AMBIGUOUS_TITLE, "🌱", ADA, stamps, [_source(5, 1, "Garden", "garden-plan", stamps)]),
        _notebook(UNLISTED_ID, "Ledger", "📒", ADA, stamps, [_source(6, 1, "Ledger", "private-ledger", stamps)]),
        _notebook(FESTIVAL_ID, "Harbour festival", "🎏", GRACE, stamps, [_festival_source(stamps)]),
        _notebook(
            FOREIGN_ID, "Grace's letters", "💌", GRACE, stamps, [_source(8, 1, "Letters", "flour-notes", stamps)]
        ),
    ]
    for notebook in reversed(notebooks):  # the first one of the list was viewed last, so it stands on top
        notebook.last_viewed = next(stamps)
    notebooks[0].notes += _lighthouse_notes(stamps)
    notebooks[6].shared_with[ADA.email] = Role.VIEWER
    chats = [
        SeedChat(OWN_CHAT_ID, ADA.email, LIGHTHOUSE_ID, "When can a boat land on the rock?"),
        SeedChat(FOREIGN_CHAT_ID, GRACE.email, FOREIGN_ID, "How much water does the flour take?"),
    ]
    return World([ADA, GRACE], notebooks, chats)


def _stamps() -> Iterator[Timestamp]:
    for step in range(100_000):
        yield _SEED_TIME_S + 60 * step, 101_000_000 + step * 1_000


def _notebook(
    notebook_id: str, title: str, emoji: str, owner: Account, stamps: Iterator[Timestamp], sources: list[Source]
) -> Notebook:
    return Notebook(notebook_id, title, emoji, owner.email, next(stamps), next(stamps), sources)


def _source(
    notebook: int,
    number: int,
    title: str,
    text_name: str | None,
    stamps: Iterator[Timestamp],
    *,
    text: str = "",
    kind: SourceType = SourceType.TEXT,
    state: SourceState = SourceState.READY,
    url: str | None = None,
) -> Source:
    body = text if text_name is None else seed_text(text_name)
    return Source(
        id=f"50a2ce00-{notebook:04d}-4a00-8b00-{number:012d}",
        title=title,
        text=body,
        type=kind,
        state=state,
        added=next(stamps),
        revision_id=f"2e715100-{notebook:04d}-4a00-8b00-{number:012d}",
        revised=next(stamps),
        url=url,
        summary=f"**{title}** in short: {_first_sentence(body)}",
        keywords=_keywords(title, body),
    )


def _first_sentence(text: str) -> str:
    line = next((line for line in text.splitlines() if line and line[0] not in "#-"), "")
    return re.split(r"(?<=[.!?”])\s+(?=[A-Z“])", line)[0]


def _keywords(title: str, text: str) -> tuple[str, ...]:
    """Return five distinct keywords: the title, then the longest words of the text."""
    words = sorted({word.strip(".,:;“”’*`#()?") for word in text.split()}, key=lambda word: (-len(word), word))
    return (title, *[word.capitalize() for word in words[:4]])


def _lighthouse_sources(stamps: Iterator[Timestamp]) -> list[Source]:
    page = "https://lantern-rock.example/tide-notes?view=crew&units=metric"
    video = "https://www.youtube.com/watch?v=LanternRock"
    return [
        _source(1, 1, "Restoration log", "restoration-log", stamps, kind=SourceType.MARKDOWN),
        _source(1, 2, "Voices from the rock 🗼", "keeper-voices", stamps),
        _source(1, 3, "Lens survey", "lens-survey", stamps, kind=SourceType.PDF),
        _source(1, 4, "Tide & weather notes", "tide-notes", stamps, kind=SourceType.WEB_PAGE, url=page),
        _source(1, 5, "Talk at the harbour school", "harbour-talk", stamps, kind=SourceType.YOUTUBE, url=video),
    ]


def _lighthouse_notes(stamps: Iterator[Timestamp]) -> list[Note]:
    """What a list of notes can hold: a note, what is left of a deleted one, a mind map, an answer saved from a chat."""
    tree = '{\n  "name": "Lantern Rock",\n  "children": [\n    { "name": "Lens" },\n    { "name": "Keepers" }\n  ]\n}'
    mapped = tuple(f"50a2ce00-0001-4a00-8b00-{number:012d}" for number in (1, 2))
    return [
        _note(1, "To ask Marta", "Which relief boat came? 🚤", stamps),
        _note(2, "", "", stamps, deleted=True),
        _note(3, "Lantern Rock at a glance", tree, stamps, kind=NoteKind.GENERATED, mapped_sources=mapped),
        _note(4, "Why the lens stopped", "The bearing had run dry.", stamps, kind=NoteKind.GENERATED),
    ]


def _note(
    number: int,
    title: str,
    text: str,
    stamps: Iterator[Timestamp],
    *,
    kind: NoteKind = NoteKind.WRITTEN,
    mapped_sources: tuple[str, ...] = (),
    deleted: bool = False,
) -> Note:
    note_id = f"1a9e7e00-0001-4e00-8b00-{number:012d}"
    return Note(note_id, title, text, next(stamps), ADA.user_id, kind, mapped_sources, deleted)


def _sourdough_sources(stamps: Iterator[Timestamp]) -> list[Source]:
    """One source in each state, so that readiness can be told apart from absence."""
    return [
        _source(2, 1, "Starter diary", "starter-diary", stamps),
        _source(2, 2, "Notes on flour", "flour-notes", stamps, state=SourceState.PROCESSING),
        _source(2, 3, "Oven log (scan)", None, stamps, kind=SourceType.PDF, state=SourceState.ERROR),
        _source(2, 4, "Crumb photographs.pdf", None, stamps, kind=SourceType.PDF, state=SourceState.PREPARING),
    ]


def _tram_sources(stamps: Iterator[Timestamp]) -> list[Source]:
    sources: list[Source] = []
    for number in range(1, TRAM_STOPS + 1):
        line = _LINES[number % len(_LINES)]
        finding = _TRAM_FINDINGS[number % len(_TRAM_FINDINGS)]
        place = f"stop {number:03d} of line {line}"
        text = f"# Stop {number:03d}\n\nAt {place}, {finding}. Counted on {number % 5 + 3} mornings."
        sources.append(_source(3, number, f"Stop {number:03d}, line {line}", None, stamps, text=text))
    return sources


def _festival_source(stamps: Iterator[Timestamp]) -> Source:
    return _source(7, 1, "Programme", "festival-programme", stamps)
