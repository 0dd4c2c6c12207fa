import pytest

from broker.errors import (
    ERROR_CLASSES,
    AccountMismatch,
    CompanionOffline,
    ErrorCode,
    InternalError,
    RateLimited,
    UpstreamSchemaDrift,
    VersionSkew,
)
from broker.relay_frames import ProtocolError, WireError
from broker.wire_errors import PAUSED_HINT, error_of_connection, error_of_result, is_paused


@pytest.mark.parametrize("code", list(ErrorCode))
@pytest.mark.parametrize("started", [True, False])
def test_each_code_on_the_wire_becomes_the_class_of_that_code(code: ErrorCode, started: bool) -> None:
    error = error_of_result("rpc", WireError(str(code), "what happened", {"side": "extension"}, started))
    assert type(error) is ERROR_CLASSES[code]
    assert error.started is started
    assert "what happened" in error.message
    assert error.details["side"] == "extension"


def test_an_unknown_code_is_a_fault_of_ours_that_names_it() -> None:
    error = error_of_result("rpc", WireError("FLUX", "gone", {}, started=False))
    assert type(error) is InternalError
    assert error.details == {"wire_code": "FLUX"}
    assert not error.started


def test_retry_after_is_published_in_seconds() -> None:
    error = error_of_result("rpc", WireError("RATE_LIMITED", "slow down", {"retry_after_ms": 1500, "limit": 32}, False))
    assert type(error) is RateLimited
    assert error.details == {"retry_after_s": 1.5, "limit": 32}


def test_drift_seen_by_the_worker_keeps_the_rpc_and_the_slot() -> None:
    detail: dict[str, object] = {"rpc_id": "wXbhsf", "path": "$[0][2]", "expected": "text", "keys": ["oPEP7c"]}
    error = error_of_result("rpc", WireError("UPSTREAM_SCHEMA_DRIFT", "changed", detail, started=True))
    assert isinstance(error, UpstreamSchemaDrift)
    assert (error.rpc_id, error.path) == ("wXbhsf", "$[0][2]")
    assert error.details == detail


def test_drift_without_detail_still_says_what_was_missing() -> None:
    error = error_of_result(
        "identity", WireError("UPSTREAM_SCHEMA_DRIFT", "no key of oPEP7c, oM1Kwf", {}, started=False)
    )
    assert "oM1Kwf" in error.message
    assert not error.started


def test_a_frame_the_host_refused_is_our_fault_and_not_the_agents_argument() -> None:
    assert type(error_of_connection(ProtocolError("INVALID_ARGUMENT", "bad frame"), started=True)) is InternalError
    assert type(error_of_connection(ProtocolError("FLUX", "bad frame"), started=True)) is InternalError


def test_version_skew_and_account_keep_their_class() -> None:
    skew = error_of_connection(ProtocolError("VERSION_SKEW", "host 0.1.0, broker 0.2.0"), started=False)
    assert type(skew) is VersionSkew
    assert not skew.started
    assert type(error_of_connection(ProtocolError("ACCOUNT_MISMATCH", "a***"), started=True)) is AccountMismatch


def test_a_pause_is_the_persons_word_and_not_worth_a_second_try() -> None:
    error = error_of_result("rpc", WireError("COMPANION_OFFLINE", "paused by the person", {"reason": "paused"}, False))
    assert type(error) is CompanionOffline
    assert is_paused(error)
    assert (error.retryable, error.hint) == (False, PAUSED_HINT)
    assert not is_paused(CompanionOffline("no browser"))
