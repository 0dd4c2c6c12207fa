"""Which refusals of a write are a definite no, so that the write has provably had no effect. Pure.

A definite no is an answer of the service to that very request that says it was not carried out. Everything else stays
open: the write may have happened, or may still happen, and only looking at the notebook tells. Getting this wrong in
one direction doubles a write, in the other it costs a look, so what nobody has seen stays open.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from broker.errors import AuthRequired, GatewayError, NotFound
from broker.requests import ADD_SOURCE, REGISTER_FILE, DriveSpec, SourceSpec


class Verdict(StrEnum):
    NO = "no"
    """Refused; nothing happened."""
    NO_UNLESS_ADDING = "no unless adding"
    """Refused, but for requests that add a source: there it was seen for accepted ones too (C-076)."""
    OPEN = "open"
    """It may have happened."""


STATUS_VERDICTS: Final[dict[int, Verdict]] = {
    1: Verdict.OPEN,  # CANCELLED: no telling when
    2: Verdict.OPEN,  # UNKNOWN
    3: Verdict.NO_UNLESS_ADDING,  # INVALID_ARGUMENT
    4: Verdict.OPEN,  # DEADLINE_EXCEEDED: the work may go on behind it
    5: Verdict.NO,  # NOT_FOUND
    6: Verdict.OPEN,  # ALREADY_EXISTS: possibly by this very request, delivered twice
    7: Verdict.NO,  # PERMISSION_DENIED
    8: Verdict.NO,  # RESOURCE_EXHAUSTED: a quota is checked before the work
    9: Verdict.NO_UNLESS_ADDING,  # FAILED_PRECONDITION
    10: Verdict.OPEN,  # ABORTED
    11: Verdict.OPEN,  # OUT_OF_RANGE: never reported for these calls
    12: Verdict.NO,  # UNIMPLEMENTED
    13: Verdict.OPEN,  # INTERNAL: recorded beside calls whose effect is unknown (wire reference, 3)
    14: Verdict.OPEN,  # UNAVAILABLE
    15: Verdict.OPEN,  # DATA_LOSS
    16: Verdict.NO,  # UNAUTHENTICATED
}
"""By the code of the status beside a null result. A number that is not here is open."""

HTTP_VERDICTS: Final[dict[int, Verdict]] = {
    400: Verdict.NO,  # a stale form token (C-053)
    401: Verdict.NO,
    403: Verdict.NO,
    404: Verdict.NO,
    429: Verdict.NO,
}
"""By HTTP status. Redirects are a no too: a page that is signed out is sent away before anything is done. Others, the
5xx above all, are open."""

ADDING: Final = frozenset({ADD_SOURCE, REGISTER_FILE})
_MAY_BE_TAKEN: Final = (
    "for a source that can also mean that it was taken and is still being read, or that the notebook is at its limit "
    "of sources"
)


def pass_verdict(rpc_id: str, http_status: int | None, error: GatewayError) -> None:
    """Set `definite` on the error that a write ended in.

    `http_status` is that of the answer, or None when there was none and the error is the companion's. An error row
    inside an answer is never definite: none was ever recorded.
    """
    if http_status is None:
        error.definite = _is_redirect(error)
    elif http_status == 200:
        code = error.details.get("upstream_status")
        verdict = STATUS_VERDICTS.get(code, Verdict.OPEN) if isinstance(code, int) else Verdict.OPEN
        is_open_here = verdict is Verdict.NO_UNLESS_ADDING and rpc_id in ADDING
        error.definite = verdict is not Verdict.OPEN and not is_open_here
        if is_open_here:
            error.message = f"{error.message}; {_MAY_BE_TAKEN}"
    else:
        is_redirect = 300 <= http_status < 400
        error.definite = is_redirect or HTTP_VERDICTS.get(http_status, Verdict.OPEN) is Verdict.NO


def maybe_document_refused(spec: SourceSpec, error: GatewayError) -> NotFound | None:
    """Return the error about the Drive document where that is why adding `spec` failed (C-081), else None.

    The service answers 5 and 7 for a document as it does for a notebook. That the notebook is there is known: its list
    is read before anything is added to it.
    """
    code = error.details.get("upstream_status")
    if not isinstance(spec, DriveSpec) or code not in (5, 7):
        return None
    what = "there is no such document" if code == 5 else "this account may not open it, or there is none"
    return NotFound(
        f"The Drive document {spec.file_id} cannot be added: {what} (status {code}).",
        hint="Check doc_id, and that the document is shared with the account of the notebook page.",
        details={**error.details, "doc_id": spec.file_id},
        definite=error.definite,
    )


def _is_redirect(error: GatewayError) -> bool:
    # The page does not follow redirects; it reports them with this reason.
    return error.started and isinstance(error, AuthRequired) and error.details.get("reason") == "redirect"
