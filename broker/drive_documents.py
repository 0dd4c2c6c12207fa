"""What may be given as a Drive document: its bare id (C-081). Pure.

People paste whole addresses, whose kind would then have to be guessed; a guessed kind made sheets arrive as text
documents elsewhere. So an address is refused with the id that stands in it.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from broker.errors import InvalidArgument
from broker.mime_types import is_mime_type

GOOGLE_DOCUMENT: Final = "application/vnd.google-apps.document"
"""The kind of a bare id without `mime_type`. Sheets, slides and PDFs are named by theirs."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_ADDRESS: Final = re.compile(r"(?i)(?:https?:)?//|docs\.google\.com|drive\.google\.com")
_ID_IN_ADDRESS: Final = re.compile(r"(?:/d/|[?&]id=)([A-Za-z0-9_-]+)")


@frozen
class DriveDocument:
    """One file of Google Drive as the request names it."""

    id: str
    mime_type: str


def check_document(doc_id: str, mime_type: str | None) -> DriveDocument:
    """Return the document.

    Raises:
        InvalidArgument: no bare id, or no MIME type.
    """
    if _ADDRESS.search(doc_id):
        found = _ID_IN_ADDRESS.search(doc_id)
        part = f", here {found[1]}" if found else ""
        raise InvalidArgument(
            "source.doc_id is an address; it takes the document's id alone.",
            hint=f"Pass the part of the address between /d/ and the next slash{part}. For a sheet, slides or another "
            "file give its mime_type too, for example application/vnd.google-apps.spreadsheet.",
            started=False,
        )
    if _ID.fullmatch(doc_id) is None:
        raise InvalidArgument(
            "source.doc_id holds characters that no Drive id has (letters, digits, - and _ only).", started=False
        )
    if mime_type is not None and not is_mime_type(mime_type):
        raise InvalidArgument("source.mime_type is no MIME type such as application/pdf.", started=False)
    return DriveDocument(doc_id, mime_type or GOOGLE_DOCUMENT)
