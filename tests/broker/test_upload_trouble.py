"""What failures are to an upload, and what the errors it ends in tell."""

from __future__ import annotations

import pytest

from broker.errors import (
    CallCancelled,
    CompanionOffline,
    DeadlineExceeded,
    GatewayError,
    InternalError,
    InvalidArgument,
    NotFound,
    RateLimited,
    StreamSevered,
    TabDiscarded,
    UpstreamRejected,
    UpstreamSchemaDrift,
    VersionSkew,
)
from broker.upload_trouble import (
    Place,
    Trouble,
    file_unusable,
    refused_start,
    session_dead,
    stopped,
    trouble_of,
    with_place,
)

PLACE = Place("5e000000-0000-4000-8000-000000000001", "slice 3", 1_048_576)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (CompanionOffline(""), Trouble.LOST),
        (TabDiscarded(""), Trouble.LOST),
        (DeadlineExceeded(""), Trouble.LOST),
        (StreamSevered(""), Trouble.LOST),
        (RateLimited(""), Trouble.BUSY),
        (UpstreamRejected("", details={"http_status": 503}), Trouble.BUSY),
        (UpstreamRejected("row status 13"), Trouble.BUSY),
        (UpstreamRejected("The connection broke.", details={"reason": "network"}), Trouble.LOST),
        (UpstreamRejected("", details={"http_status": 400}), Trouble.REFUSED),
        (InvalidArgument("", details={"reason": "incomplete"}), Trouble.REFUSED),
        (InvalidArgument("", details={"reason": "something else"}), Trouble.FINAL),
        (NotFound("", details={"reason": "unknown_upload"}), Trouble.FORGOTTEN),
        (NotFound("no such notebook"), Trouble.FINAL),
        (CallCancelled("the person paused"), Trouble.FINAL),
        (VersionSkew(""), Trouble.FINAL),
        (InternalError(""), Trouble.FINAL),
        (UpstreamSchemaDrift("upload", "x", "y"), Trouble.FINAL),
    ],
    ids=repr,
)
def test_a_failure_is_told_by_what_mends_it(error: GatewayError, trouble: Trouble):
    assert trouble_of(error) is trouble


@pytest.mark.parametrize(
    ("error", "definite"),
    [
        (stopped(PLACE, CompanionOffline("The browser is gone.")), False),
        (session_dead(PLACE, "expired"), False),
        (refused_start(PLACE, UpstreamRejected("HTTP 400")), True),
        (file_unusable(PLACE, "it was changed"), True),
    ],
    ids=repr,
)
def test_c086_every_ending_says_where_it_happened_and_what_to_do(error: GatewayError, definite: bool):
    assert error.details.items() >= {
        ("source_id", PLACE.source_id),
        ("stage", "slice 3"),
        ("bytes_received", 1_048_576),
    }
    assert PLACE.source_id in error.message
    assert "(slice 3)" in error.message
    assert ".." not in error.message
    assert error.hint
    assert error.definite is definite


def test_c086_drift_keeps_its_own_details_beside_the_place():
    drift = with_place(PLACE, UpstreamSchemaDrift("upload", "size_received", "a number", "12x"), definite=True)
    assert drift.details["path"] == "size_received"
    assert drift.details["source_id"] == PLACE.source_id
    assert drift.definite
