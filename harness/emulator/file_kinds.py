"""What the service makes of an uploaded file: nothing at all, or a type and a text (wire reference §4.2, §7). Pure."""

from __future__ import annotations

from typing import Final

from harness.emulator.model import SourceType

MAX_TEXT_BYTES: Final = 1024 * 1024
_HTML_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))
_HTML_ENDINGS: Final = frozenset(("htm", "html", "xhtml"))
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_TYPES: Final = {
    "application/epub+zip": SourceType.EPUB,
    "application/pdf": SourceType.PDF,
    f"{_OFFICE}.presentationml.presentation": SourceType.POWERPOINT,
    f"{_OFFICE}.wordprocessingml.document": SourceType.WORD,
    "text/csv": SourceType.CSV,
    "text/markdown": SourceType.MARKDOWN,
    "text/plain": SourceType.TEXT,
}
_FAMILIES: Final = {"audio": SourceType.MEDIA, "video": SourceType.MEDIA, "image": SourceType.IMAGE}
_ENDINGS: Final = {
    "csv": SourceType.CSV,
    "docx": SourceType.WORD,
    "epub": SourceType.EPUB,
    "jpg": SourceType.IMAGE,
    "m4a": SourceType.MEDIA,
    "mp3": SourceType.MEDIA,
    "mp4": SourceType.MEDIA,
    "pdf": SourceType.PDF,
    "png": SourceType.IMAGE,
    "pptx": SourceType.POWERPOINT,
    "txt": SourceType.TEXT,
}
"""For clients that send no MIME type. Markdown is not in it: it needs its type said [reported]."""
_TEXTS: Final = frozenset((SourceType.TEXT, SourceType.MARKDOWN, SourceType.CSV))


def is_refused(name: str, mime_type: str | None) -> bool:
    """Tell whether the service takes no such file at all: HTML, by its type or by its name (case C-089)."""
    kind = "" if mime_type is None else mime_type.partition(";")[0].strip().lower()
    return kind in _HTML_TYPES or _ending(name) in _HTML_ENDINGS


def type_of(name: str, mime_type: str | None) -> SourceType:
    if mime_type is not None:
        kind = mime_type.partition(";")[0].strip().lower()
        found = _TYPES.get(kind) or _FAMILIES.get(kind.partition("/")[0])
        return SourceType.TEXT if found is None else found
    return _ENDINGS.get(_ending(name), SourceType.TEXT)


def text_of(name: str, kind: SourceType, head: bytes) -> str:
    """Return what is read in a file: its own text when it is one, else a sentence."""
    if kind in _TEXTS:
        return head[:MAX_TEXT_BYTES].decode("utf-8", errors="replace")
    return f"This is what was read in {name}."


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
