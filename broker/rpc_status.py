"""From the status an answer carries to one of our errors (wire reference, section 3; C-055, C-056, C-057).

A refused call has HTTP status 200, a null result and a `google.rpc.Status` beside it: ``[code, message, details]``,
usually only ``[code]``. Pure.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from attrs import frozen

from broker.errors import (
    AuthRequired,
    GatewayError,
    InvalidArgument,
    NotFound,
    RateLimited,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.scrubber import scrub_quoted
from broker.slots import as_list, kind_of, texts_inside

MAX_SENTENCE_CHARS: Final = 300
"""A refusal's own words are shown to the agent; they are data from outside, so they are kept short."""
QUESTION_LIMIT_HINT: Final = (
    "The service refuses questions of more than about 5,500 characters, and sources it does not know. Shorten the "
    "question or check source_ids."
)
USER_DISPLAYABLE: Final = "UserDisplayableError"
TYPE_ADDRESS: Final = "type.googleapis.com/"


class StaleToken(AuthRequired):
    """HTTP 400, 401 or 403, or the same number in an error row: the page's form token or session is too old.

    A read is tried once more after the page was loaded anew; 400 is what a stale token gives (C-053).
    """


@frozen
class Outcome:
    """What one status code means for the caller of a read."""

    name: str
    error: type[GatewayError]
    retryable: bool
    meaning: str


OUTCOMES: Final[dict[int, Outcome]] = {
    1: Outcome("CANCELLED", UpstreamRejected, False, "the service cancelled the call"),
    2: Outcome("UNKNOWN", UpstreamRejected, False, "the service failed without a reason"),
    3: Outcome("INVALID_ARGUMENT", InvalidArgument, False, "the service does not accept the arguments"),
    4: Outcome("DEADLINE_EXCEEDED", UpstreamRejected, False, "the service took too long inside"),
    5: Outcome("NOT_FOUND", NotFound, False, "the service knows no such thing"),
    6: Outcome("ALREADY_EXISTS", UpstreamRejected, False, "it exists already"),
    7: Outcome("PERMISSION_DENIED", NotFound, False, "this account may not see it, or it does not exist"),
    8: Outcome("RESOURCE_EXHAUSTED", RateLimited, True, "a quota or rate limit of the account is used up"),
    9: Outcome("FAILED_PRECONDITION", UpstreamRejected, False, "the thing is not in a state that allows this"),
    10: Outcome("ABORTED", UpstreamRejected, False, "the service broke the call off"),
    11: Outcome("OUT_OF_RANGE", UpstreamRejected, False, "a value is out of range"),
    12: Outcome("UNIMPLEMENTED", UpstreamRejected, False, "the service no longer offers this call"),
    13: Outcome("INTERNAL", UpstreamRejected, True, "the service failed inside"),
    14: Outcome("UNAVAILABLE", UpstreamRejected, True, "the service is not available at the moment"),
    15: Outcome("DATA_LOSS", UpstreamRejected, False, "the service lost data"),
    16: Outcome("UNAUTHENTICATED", AuthRequired, False, "the browser is not signed in to the service"),
}
UNKNOWN_OUTCOME: Final = Outcome("unknown", UpstreamRejected, False, "the service refused with a number we do not know")


def status_error(rpc_id: str, status: object, path: str) -> GatewayError:
    """Turn a status value into the error to raise.

    `path` is where the value stood; a value that is no status gives UpstreamSchemaDrift.
    """
    values = as_list(status) or []
    code = values[0] if values else None
    if not isinstance(code, int) or isinstance(code, bool) or code == 0:
        return UpstreamSchemaDrift(rpc_id, path, "a result, or a status with a code", kind_of(status))
    outcome = OUTCOMES.get(code, UNKNOWN_OUTCOME)
    sentence = displayable_sentence(values)
    said = f'; the service says: "{sentence}"' if sentence else ""
    return outcome.error(
        f"{rpc_id}: status {code} ({outcome.name}): {outcome.meaning}{said}",
        retryable=outcome.retryable,
        details={"rpc_id": rpc_id, "upstream_status": code},
    )


def error_row_error(rpc_id: str, code: object) -> GatewayError:
    """Turn the code of an ``er`` row into an error. It is an HTTP-like number, or text (never recorded)."""
    if isinstance(code, int) and not isinstance(code, bool):
        return http_error(rpc_id, code, None)
    text = plain_sentence(code) if isinstance(code, str) else kind_of(code)
    return UpstreamRejected(f'{rpc_id}: the service answered with an error row: "{text}"', details={"rpc_id": rpc_id})


def http_error(rpc_id: str, status: int, retry_after_s: float | None) -> GatewayError:
    """Turn an HTTP status other than 200 into an error."""
    details: dict[str, object] = {"rpc_id": rpc_id, "http_status": status}
    if status in (400, 401, 403):
        return StaleToken(f"{rpc_id}: HTTP {status}: the page's session or form token was refused", details=details)
    if status == 429:
        if retry_after_s is not None:
            details["retry_after_s"] = retry_after_s
        wait = "" if retry_after_s is None else f"; it asks to wait {retry_after_s:g} s"
        return RateLimited(f"{rpc_id}: HTTP 429: a rate limit of the account is used up{wait}", details=details)
    if status == 404:
        return NotFound(f"{rpc_id}: HTTP 404: the service knows no such thing", details=details)
    if 300 <= status < 400:
        return AuthRequired(f"{rpc_id}: HTTP {status}: the service sent the page to sign in", details=details)
    return UpstreamRejected(f"{rpc_id}: HTTP {status}", retryable=500 <= status < 600, details=details)


def displayable_sentence(status: list[object]) -> str:
    """Return the words for people inside a status, or the empty string.

    They are the status message, and otherwise the longest text with a blank in it inside a detail whose type ends in
    ``UserDisplayableError``. The type's own address is never shown.
    """
    message = status[1] if len(status) > 1 else None
    if isinstance(message, str) and message.strip() and TYPE_ADDRESS not in message:
        return plain_sentence(message)
    details = as_list(status[2]) if len(status) > 2 else None
    candidates: list[str] = []
    for detail in details or ():
        values = as_list(detail) or []
        if values and isinstance(values[0], str) and values[0].endswith(USER_DISPLAYABLE):
            candidates += [
                text for text in texts_inside(values[1:]) if " " in text.strip() and TYPE_ADDRESS not in text
            ]
    return plain_sentence(max(candidates, key=len)) if candidates else ""


def plain_sentence(text: str) -> str:
    """Return foreign text as one short line without secrets (C-029).

    Control and format characters are gone, so it cannot forge a layout.
    """
    kept = "".join(" " if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char for char in text)
    line = scrub_quoted(" ".join(kept.split()))
    return line if len(line) <= MAX_SENTENCE_CHARS else line[: MAX_SENTENCE_CHARS - 1].rstrip() + "…"
