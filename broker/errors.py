"""Everything that can go wrong, as the agent sees it: one taxonomy, one failure envelope.

Each class owns its code, whether a repeat can help, and a hint that says what to do next. Code that meets a foreign
error (a socket, JSON, the page) translates it into one of these at the line that calls the foreign code. (ADR-010)

Who is at fault decides the class: the caller (`INVALID_ARGUMENT`, `SESSION_*`, `NOT_FOUND`, `ALLOWLIST_DENIED`), the
person's set-up (`AUTH_REQUIRED`, `ACCOUNT_MISMATCH`, `COMPANION_OFFLINE`, `VERSION_SKEW`, `TAB_DISCARDED`), the service
(`RATE_LIMITED`, `UPSTREAM_*`, `STREAM_SEVERED`, `UNGROUNDED_RESPONSE`, `SOURCE_NOT_READY`), time (`TIMEOUT`,
`CANCELLED`), or us (`INTERNAL`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar


class ErrorCode(StrEnum):
    """The closed list of codes, as published in every tool's output schema."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    ALLOWLIST_DENIED = "ALLOWLIST_DENIED"
    SESSION_UNLOCKED = "SESSION_UNLOCKED"
    SESSION_LOCKED = "SESSION_LOCKED"
    NOT_FOUND = "NOT_FOUND"
    AUTH_REQUIRED = "AUTH_REQUIRED"
    ACCOUNT_MISMATCH = "ACCOUNT_MISMATCH"
    COMPANION_OFFLINE = "COMPANION_OFFLINE"
    VERSION_SKEW = "VERSION_SKEW"
    TAB_DISCARDED = "TAB_DISCARDED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    RATE_LIMITED = "RATE_LIMITED"
    SOURCE_NOT_READY = "SOURCE_NOT_READY"
    UNGROUNDED_RESPONSE = "UNGROUNDED_RESPONSE"
    STREAM_SEVERED = "STREAM_SEVERED"
    MUTATION_UNKNOWN = "MUTATION_UNKNOWN"
    UPSTREAM_REJECTED = "UPSTREAM_REJECTED"
    UPSTREAM_SCHEMA_DRIFT = "UPSTREAM_SCHEMA_DRIFT"
    INTERNAL = "INTERNAL"


class GatewayError(Exception):
    """Base of all errors that reach an agent. Raise a subclass, never this one.

    `message` states the fact and the value seen, for people; it must hold no secret. `details` is small JSON.
    `started` says whether the request can have reached the service: False only on proof (protocol.md). `definite` is
    True when the service itself said no to this very request, so that a write has provably had no effect.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    retryable: bool = False
    hint: str = ""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        retryable: bool | None = None,
        details: dict[str, Any] | None = None,
        started: bool = True,
        definite: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.started = started
        self.definite = definite
        if hint is not None:
            self.hint = hint
        if retryable is not None:
            self.retryable = retryable

    def __repr__(self) -> str:
        return f"<{self.code} {self.message!r}>"

    def as_error(self) -> dict[str, Any]:
        """Return the `error` object of the failure envelope."""
        error: dict[str, Any] = {"code": str(self.code), "message": self.message, "retryable": self.retryable}
        if self.hint:
            error["hint"] = self.hint
        if self.details:
            error["details"] = self.details
        return error


class InvalidArgument(GatewayError):
    """The call itself is wrong; nothing was sent."""

    code = ErrorCode.INVALID_ARGUMENT
    hint = "Correct the named argument and call again."


class AllowlistDenied(GatewayError):
    """The notebook exists or not, but the person has not allowed it. `details.side` names who denies."""

    code = ErrorCode.ALLOWLIST_DENIED
    hint = "Ask the person to allow this notebook: `notebook-gateway allow add <notebook id>`."


class SessionUnlocked(GatewayError):
    """A tool that works inside one notebook was called before a notebook was selected."""

    code = ErrorCode.SESSION_UNLOCKED
    hint = "Call list_notebooks, let the person choose, then call select_notebook."


class SessionLocked(GatewayError):
    """This process is locked to another notebook, for good (ADR-011)."""

    code = ErrorCode.SESSION_LOCKED
    hint = "One session works in one notebook. Start a new session to use another one."


class NotFound(GatewayError):
    """The service or the allowlist knows no such thing."""

    code = ErrorCode.NOT_FOUND
    hint = "List again and use an id from that list."


class AuthRequired(GatewayError):
    """The browser is signed out of the service."""

    code = ErrorCode.AUTH_REQUIRED
    hint = "Ask the person to sign in to the notebook page in the browser, then call again."


class AccountMismatch(GatewayError):
    """The page belongs to another account than the configured one; both are masked."""

    code = ErrorCode.ACCOUNT_MISMATCH
    hint = "Ask the person to sign in with the configured account, or to change `account` in config.toml."


class CompanionOffline(GatewayError):
    """No browser with the extension and its native host can be reached."""

    code = ErrorCode.COMPANION_OFFLINE
    retryable = True
    hint = "Run `notebook-gateway doctor` to see which hop is missing, start that browser, then call again."


class VersionSkew(GatewayError):
    """Two hops of the chain come from builds that share no protocol version."""

    code = ErrorCode.VERSION_SKEW
    hint = "Update the older part: `pip install --upgrade notebook-gateway`, then reload the extension."


class TabDiscarded(GatewayError):
    """The notebook tab was discarded, frozen, closed or navigated away while a call was open."""

    code = ErrorCode.TAB_DISCARDED
    retryable = True
    hint = "Call again; the tab is opened anew."


class DeadlineExceeded(GatewayError):
    """The call did not end within its deadline."""

    code = ErrorCode.TIMEOUT
    retryable = True
    hint = "Call again; if it happens twice, run `notebook-gateway doctor`."


class CallCancelled(GatewayError):
    """The caller, or the person, cancelled."""

    code = ErrorCode.CANCELLED


class RateLimited(GatewayError):
    """The service's quota, the account's request budget, or our limit of open calls is used up."""

    code = ErrorCode.RATE_LIMITED
    retryable = True
    hint = "Wait before the next call, `retry_after_s` where it is given; the service limits calls per account."


class SourceNotReady(GatewayError):
    """A source the question is scoped to cannot be asked yet, or never will be."""

    code = ErrorCode.SOURCE_NOT_READY
    hint = "Call list_sources to see states; leave the source out of source_ids or wait until it is ready."


class UngroundedResponse(GatewayError):
    """The final answer cites nothing (ADR-015)."""

    code = ErrorCode.UNGROUNDED_RESPONSE
    hint = "The sources do not support an answer. Rephrase the question or add a source; do not use the text as fact."


class StreamSevered(GatewayError):
    """The answer stream ended before its final marker. What had arrived is in `details`."""

    code = ErrorCode.STREAM_SEVERED
    retryable = True
    hint = "Ask again with a new request_key."


class MutationUnknown(GatewayError):
    """A write may or may not have taken effect, and nothing can prove it."""

    code = ErrorCode.MUTATION_UNKNOWN
    hint = "Repeat the call with the same idempotency key: it looks again and never writes twice."


class UpstreamRejected(GatewayError):
    """The service answered with a status that says no."""

    code = ErrorCode.UPSTREAM_REJECTED
    hint = "The service refused the request; the status number is in the message."


class UpstreamSchemaDrift(GatewayError):
    """The service answered in a shape this build does not know. Never an empty list instead (M-05).

    `rpc_id` and `path` (a slot path such as ``$[0][1][3]``) say where; values stay out of the message.
    """

    code = ErrorCode.UPSTREAM_SCHEMA_DRIFT
    hint = "The service changed its format. Update notebook-gateway; if it is current, report the RPC id and slot path."

    def __init__(self, rpc_id: str, path: str, expected: str, seen: str = "") -> None:
        seen_text = f", saw {seen}" if seen else ""
        super().__init__(
            f"{rpc_id}: expected {expected} at {path}{seen_text}",
            details={"rpc_id": rpc_id, "path": path, "expected": expected},
        )
        self.rpc_id = rpc_id
        self.path = path


class InternalError(GatewayError):
    """A fault of ours. The message never carries the foreign exception's text, which could hold a secret."""

    code = ErrorCode.INTERNAL
    hint = "This is a fault in notebook-gateway: please report it with the log named by `notebook-gateway doctor`."


ERROR_CLASSES: dict[ErrorCode, type[GatewayError]] = {
    cls.code: cls
    for cls in (
        InvalidArgument,
        AllowlistDenied,
        SessionUnlocked,
        SessionLocked,
        NotFound,
        AuthRequired,
        AccountMismatch,
        CompanionOffline,
        VersionSkew,
        TabDiscarded,
        DeadlineExceeded,
        CallCancelled,
        RateLimited,
        SourceNotReady,
        UngroundedResponse,
        StreamSevered,
        MutationUnknown,
        UpstreamRejected,
        UpstreamSchemaDrift,
        InternalError,
    )
}
# Invariant: one class per code.
assert ERROR_CLASSES.keys() == set(ErrorCode)


def failure_envelope(error: GatewayError, meta: dict[str, Any]) -> dict[str, Any]:
    """Build the published failure object: ``{"ok": false, "error": {…}, "_meta": {…}}``."""
    return {"ok": False, "error": error.as_error(), "_meta": meta}


def success_envelope(result: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """Build the published success object: ``{"ok": true, "result": {…}, "_meta": {…}}``."""
    return {"ok": True, "result": result, "_meta": meta}
