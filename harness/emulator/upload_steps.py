"""The steps of an upload against the state: start, find, finish, cancel. No HTTP but the names of its headers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from harness.emulator.file_kinds import is_refused, text_of, type_of
from harness.emulator.ingestion import FILE_READ_S, start_reading
from harness.emulator.model import Account, Role, SourceType
from harness.emulator.params import PERMISSION_DENIED, Denied
from harness.emulator.state import ServiceState
from harness.emulator.uploads import Upload, UploadStatus
from harness.emulator.wire_json import Json

FORM_TYPE: Final = "application/x-www-form-urlencoded"


class Refused(Exception):
    """The request ends with an HTTP status and a page that says why."""

    def __init__(self, http_status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{http_status}: {reason}")
        self.http_status = http_status
        self.reason = reason
        self.headers = headers


def start_upload(state: ServiceState, account: Account, headers: Mapping[str, str], body: bytes) -> Upload:
    """Open a session for a registered file.

    Raises:
        Refused: 400 for a form that no page sends, for a type that the service does not take and for a source that has
            its bytes already; 403 and 404 as for any source.
    """
    if headers.get("x-goog-upload-protocol") != "resumable":
        raise Refused(400, "x-goog-upload-protocol must be resumable")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise Refused(400, f"the content type of a start is {FORM_TYPE}")
    length = headers.get("x-goog-upload-header-content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise Refused(400, "x-goog-upload-header-content-length must be the size in bytes")
    notebook_id, name, source_id = _names(body)
    mime_type = headers.get("x-goog-upload-header-content-type")
    try:
        notebook, source = state.source_for(source_id, account.email)
    except Denied as denied:
        raise Refused(403 if denied.status == PERMISSION_DENIED else 404, "no such source") from denied
    if notebook.id != notebook_id:
        raise Refused(404, "no such source in this notebook")
    if notebook.role_of(account.email) is Role.VIEWER:
        raise Refused(403, "the notebook is shared for reading")
    if source.awaits_bytes is None:
        raise Refused(400, "the source has its bytes")
    if is_refused(name, mime_type):
        raise Refused(400, "this type of file is not taken")
    upload = Upload(source_id, notebook_id, account.email, name, int(length), mime_type, authuser=None)
    state.uploads[upload.id] = upload
    return upload


def _names(body: bytes) -> tuple[str, str, str]:
    try:
        value = cast("Json", json.loads(body))
    except ValueError as error:
        raise Refused(400, "the body of a start is not JSON") from error
    match value:
        case {"PROJECT_ID": str(notebook), "SOURCE_NAME": str(name), "SOURCE_ID": str(source), **rest} if not rest:
            return notebook, name, source
        case _:
            raise Refused(400, 'the body of a start is {"PROJECT_ID", "SOURCE_NAME", "SOURCE_ID"}')


def upload_for(state: ServiceState, account: Account, query: Mapping[str, str]) -> Upload:
    """Return the session that an address names.

    Raises:
        Refused: 404 for an unknown or expired one, 403 for another account's.
    """
    upload = state.uploads.get(query.get("upload_id", ""))
    if upload is None or upload.status is UploadStatus.EXPIRED or query.get("upload_protocol") != "resumable":
        raise Refused(404, "no such upload")
    if upload.email != account.email:
        raise Refused(403, "another account's upload")
    return upload


def finish_upload(state: ServiceState, upload: Upload) -> None:
    """Hand the file over for reading; without effect when its source is gone or has its bytes already."""
    if upload.status is not UploadStatus.ACTIVE:
        return
    upload.take_over()
    upload.status = UploadStatus.FINAL
    for source in state.sources():
        if source.id == upload.source_id and source.awaits_bytes is not None:
            reading, source.awaits_bytes = source.awaits_bytes, None
            source.type = type_of(upload.name, upload.mime_type)
            text = text_of(upload.name, source.type, bytes(upload.head))
            source.set_text(text, plain=source.type is not SourceType.MARKDOWN)
            start_reading(state, source, reading, FILE_READ_S)
            return


def cancel_upload(upload: Upload) -> None:
    """End a session without a file; one that is over stays as it is."""
    if upload.status is UploadStatus.ACTIVE:
        upload.take_over()
        upload.status = UploadStatus.CANCELLED
