"""The MIME type of a file, from a fixed table: the same on every machine (C-088, C-089). Pure.

Python's own guess depends on files that are installed. The content is not looked at: an explicit type wins over the
ending, and an ending that is not here needs one. The table holds what the service takes (its help page on source types,
and the kinds of wire reference, 5); HTML it refuses only after the row is registered, so that is refused here.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from broker.errors import InvalidArgument

BY_ENDING: Final = {
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".epub": "application/epub+zip",
    # Pictures
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".ico": "image/vnd.microsoft.icon",
    ".jp2": "image/jp2",
    ".jpe": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
    # Sound and film, which are transcribed
    ".3g2": "video/3gpp2",
    ".3gp": "video/3gpp",
    ".aac": "audio/aac",
    ".aif": "audio/aiff",
    ".aifc": "audio/aiff",
    ".aiff": "audio/aiff",
    ".amr": "audio/amr",
    ".au": "audio/basic",
    ".avi": "video/x-msvideo",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mid": "audio/midi",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".oga": "audio/ogg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",  # Opus comes in an Ogg file (RFC 7845, 9); audio/opus is a stream's type
    ".snd": "audio/basic",
    ".wav": "audio/wav",
    ".weba": "audio/webm",
    ".webm": "video/webm",
    ".wma": "audio/x-ms-wma",
}

HTML_ENDINGS: Final = frozenset({".html", ".htm", ".xhtml", ".xht", ".shtml"})
HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})

# RFC 6838, 4.2. No parameters: the type travels as one word, and the service needs no charset.
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_MIME_TYPE: Final = re.compile(f"{_NAME}/{_NAME}")


def is_mime_type(text: str) -> bool:
    """Return whether `text` is ``type/subtype`` without parameters."""
    return _MIME_TYPE.fullmatch(text) is not None


def mime_type_for(name: str, explicit: str | None) -> str:
    """Return the type to upload the file `name` (or path) under, in small letters.

    An explicit type wins, also over an HTML ending: ``x.html`` as ``text/plain`` is sent as text.

    Raises:
        InvalidArgument: `explicit` is no MIME type, the ending is unknown and there is no explicit type, or it is HTML.
    """
    ending = PurePosixPath(name).suffix.lower()
    if explicit is not None:
        if not is_mime_type(explicit):
            raise InvalidArgument(
                f"source.mime_type is {explicit[:100]!r}, which is no MIME type.",
                hint="Give type/subtype without parameters, for example application/pdf; or leave it out.",
                started=False,
            )
        mime_type = explicit.lower()
    elif ending in HTML_ENDINGS:
        mime_type = "text/html"
    elif ending in BY_ENDING:
        mime_type = BY_ENDING[ending]
    else:
        raise InvalidArgument(
            f"source.file_path ends in {ending[:20]!r}, whose type is not known."
            if ending
            else "source.file_path has no ending that would tell its type.",
            hint="Give source.mime_type too, for example text/plain; endings known without it: "
            f"{' '.join(sorted(BY_ENDING))}.",
            started=False,
        )
    if mime_type in HTML_TYPES:
        raise InvalidArgument(
            f"source.file_path is HTML ({mime_type}), which the service refuses as a file.",
            hint="Add the page as type url if it is public; otherwise convert it to text, Markdown or PDF first, or "
            "give source.mime_type text/plain to have its markup taken as text.",
            started=False,
        )
    return mime_type
