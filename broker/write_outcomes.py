"""How a write ends, as errors that are told and stored, and read back for a repeat. Pure."""

from __future__ import annotations

from typing import cast

from broker.errors import ERROR_CLASSES, ErrorCode, GatewayError, MutationUnknown
from broker.faults import as_gateway_error
from broker.journal_rows import Json, MutationRecord
from broker.scrubber import scrub_json, scrub_text


def as_unknown(error: Exception, record: MutationRecord) -> MutationUnknown:
    """Return what a caller is told of a write that ended by `error` after a request may have left."""
    if isinstance(error, MutationUnknown):
        error.details.setdefault("journal_id", record.id)
        return error
    cause = as_gateway_error(error, f"{record.tool}: the write")
    return MutationUnknown(
        f"{record.tool} did not come to its end, and it may have taken effect: {cause.message}",
        details={**cause.details, "cause": str(cause.code), "journal_id": record.id},
    )


def cut_short(record: MutationRecord) -> MutationUnknown:
    """Return what is stored of a write whose process ended."""
    return MutationUnknown(
        f"{record.tool} was cut short after its request was sent.",
        details={"journal_id": record.id},
    )


def as_rejected(error: GatewayError, record: MutationRecord) -> GatewayError:
    """Say beside the error that the key is used up: the stored outcome will answer every repeat."""
    stays = "What was made before stays in the notebook" if record.claims else "Nothing was written"
    again = f"{stays}. A new try needs a new idempotency_key."
    return _rebuilt(
        error.code, error.message, f"{error.hint} {again}".strip(), {**error.details, "mutation": "rejected"}
    )


def _rebuilt(code: ErrorCode, message: str, hint: str, details: Json) -> GatewayError:
    cls = ERROR_CLASSES[code]
    error = cls.__new__(cls)
    GatewayError.__init__(error, message, hint=hint, retryable=False, details=details, started=False)
    return error


def error_json(error: GatewayError) -> Json:
    """Return an error as it is stored, without secrets (C-029)."""
    return cast("Json", scrub_json(error.as_error(), scrub_text))


def stored_outcome(record: MutationRecord) -> Json:
    """Return the stored result as a replay, or raise the stored error."""
    if record.result is not None:
        return {**record.result, "replayed": True}
    stored = record.error or {}
    details = stored.get("details")
    raise _rebuilt(
        ErrorCode(str(stored.get("code", ErrorCode.INTERNAL))),
        str(stored.get("message", "The write was rejected.")),
        str(stored.get("hint", "")),
        cast("Json", details) if isinstance(details, dict) else {},
    )
