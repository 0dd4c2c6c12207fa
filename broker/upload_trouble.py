"""What goes wrong while a file is uploaded: its kinds, how often each is borne, and the errors an upload ends in. Pure.

Each error carries the source's id and how far the upload came, because the row is there already and costs quota, and
only the person may remove it (C-086).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from attrs import frozen

from broker.errors import (
    AllowlistDenied,
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    MutationUnknown,
    NotFound,
    RateLimited,
    StreamSevered,
    TabDiscarded,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.forgotten_ids import is_forgotten_id


class Trouble(StrEnum):
    """Kinds of failure, by what mends them."""

    LOST = "lost"
    """The way to the service broke, in the page or before it. The session is probably alive."""
    BUSY = "busy"
    """HTTP 429 or 5xx."""
    REFUSED = "refused"
    """Another HTTP 4xx, or a page that lacks a part of the file: no to this request as it stands."""
    FORGOTTEN = "forgotten"
    """The browser no longer knows the session: it, or the extension, was restarted."""
    NOT_YET = "not_yet"
    """The row is not there, or has not moved on, yet."""
    FINAL = "final"
    """Whatever waiting cannot mend."""


TRIES: Final[dict[Trouble, int]] = {Trouble.LOST: 20, Trouble.BUSY: 3, Trouble.REFUSED: 3, Trouble.NOT_YET: 6}
"""Failures of a kind that are borne until the service has more of the file than ever before; the last one ends it.

Twenty are some four minutes with a browser that is closed: each call waits for one (`broker.companions`), then the
pause comes. A repeat of the tool call goes on from there.
"""

_WAYS_BREAK: Final = (CompanionOffline, TabDiscarded, DeadlineExceeded, StreamSevered)
_EMPTY_ROW_STAYS: Final = "The empty source stays in the notebook until the person removes it."


def trouble_of(error: GatewayError) -> Trouble:
    """Say what kind of trouble an error is to an upload."""
    reason = error.details.get("reason")
    match error:
        case NotFound() if reason == "unknown_upload":
            return Trouble.FORGOTTEN
        case InvalidArgument() if reason == "incomplete":
            return Trouble.REFUSED
        case AllowlistDenied() if is_forgotten_id(error):
            return Trouble.LOST
        case RateLimited():
            return Trouble.BUSY
        case UpstreamRejected() if reason == "network":
            return Trouble.LOST
        case UpstreamRejected():
            http_status = error.details.get("http_status")
            return Trouble.REFUSED if isinstance(http_status, int) and 400 <= http_status < 500 else Trouble.BUSY
        case _:
            return Trouble.LOST if isinstance(error, _WAYS_BREAK) else Trouble.FINAL


@frozen
class Place:
    """Where an upload stands when it ends. `stage` is ``start``, ``slice <n>`` (from 1) or ``finalize``."""

    source_id: str
    stage: str
    bytes_received: int

    def details(self) -> dict[str, object]:
        return {"source_id": self.source_id, "stage": self.stage, "bytes_received": self.bytes_received}


def stopped(place: Place, cause: GatewayError) -> MutationUnknown:
    """Return the error of an upload that a repeat of the call resumes."""
    return MutationUnknown(
        _sentence(place, cause.message),
        hint=f"{cause.hint} Repeat the call with the same idempotency key: it goes on with the same source.".strip(),
        details={**cause.details, **place.details(), "cause": str(cause.code)},
    )


def session_dead(place: Place, status: str) -> MutationUnknown:
    """Return the error of an upload whose session the service has ended: nothing resumes it (C-083)."""
    return MutationUnknown(
        _sentence(place, f"the service says that its session is {status}"),
        hint="The rest cannot be sent any more. Ask the person to remove the source, then add the file with a new "
        "idempotency_key.",
        details=place.details(),
    )


def refused_start(place: Place, cause: GatewayError) -> UpstreamRejected:
    """Return the error of a file that the service does not take. Definite: no session, no content."""
    return UpstreamRejected(
        _sentence(place, cause.message),
        hint=f"The service does not take this file, most likely its type. {_EMPTY_ROW_STAYS}",
        details={**cause.details, **place.details()},
        definite=True,
    )


def file_unusable(place: Place, reason: str) -> InvalidArgument:
    """Return the error of a file that changed on the way (C-084). Definite: what was sent is never finalised."""
    return InvalidArgument(
        f"file_path: {_sentence(place, reason)} Nothing of it was finalised.",
        hint=f"Add the file again when nothing writes to it any more. {_EMPTY_ROW_STAYS}",
        details=place.details(),
        definite=True,
    )


def with_place(place: Place, drift: UpstreamSchemaDrift, *, definite: bool) -> UpstreamSchemaDrift:
    """Complete an error about the upload's own answers, which stop it (C-082, C-083, C-087)."""
    drift.details.update(place.details())
    drift.definite = definite
    return drift


def size_drift(name: str, size_bytes: int, seen: int | None) -> UpstreamSchemaDrift:
    """Return the error of an answer that does not fit the file's size."""
    return UpstreamSchemaDrift("upload", name, f"a number of bytes up to {size_bytes}", str(seen))


def _sentence(place: Place, reason: str) -> str:
    return f"The upload to source {place.source_id} stopped ({place.stage}): {reason.rstrip('.')}."
