from __future__ import annotations

import pytest

from broker.errors import AuthRequired, CompanionOffline, GatewayError, NotFound, TabDiscarded, UpstreamRejected
from broker.requests import ADD_SOURCE, CREATE_NOTE, DELETE_NOTE, FILL_NOTE, REGISTER_FILE, DriveSpec, TextSpec, WebSpec
from broker.rpc_status import OUTCOMES, error_row_error, http_error, status_error
from broker.write_verdicts import STATUS_VERDICTS, maybe_document_refused, pass_verdict

WRITES = [ADD_SOURCE, REGISTER_FILE, CREATE_NOTE, FILL_NOTE, DELETE_NOTE]
DRIVE = DriveSpec("1DriveId", "application/pdf", "")


def judged(rpc_id: str, http_status: int | None, error: GatewayError) -> GatewayError:
    pass_verdict(rpc_id, http_status, error)
    return error


def by_status(rpc_id: str, code: int) -> GatewayError:
    return judged(rpc_id, 200, status_error(rpc_id, [code], "row.status"))


def test_every_known_status_has_a_verdict() -> None:
    assert STATUS_VERDICTS.keys() == OUTCOMES.keys()


@pytest.mark.parametrize("rpc_id", WRITES)
def test_what_is_a_definite_no_and_what_stays_open(rpc_id: str) -> None:
    definite = {code for code in range(1, 100) if by_status(rpc_id, code).definite}
    assert definite == ({5, 7, 8, 12, 16} if rpc_id in (ADD_SOURCE, REGISTER_FILE) else {3, 5, 7, 8, 9, 12, 16})


@pytest.mark.parametrize("rpc_id", [ADD_SOURCE, REGISTER_FILE])
@pytest.mark.parametrize("code", [3, 9])
def test_c076_a_status_that_can_mean_accepted_stays_open_and_names_the_cap(rpc_id: str, code: int) -> None:
    error = by_status(rpc_id, code)
    assert not error.definite
    assert f"status {code}" in error.message
    assert "limit of sources" in error.message
    assert not error.retryable


def test_the_ambiguity_is_told_of_additions_only() -> None:
    assert "limit of sources" not in by_status(CREATE_NOTE, 3).message
    assert "limit of sources" not in by_status(ADD_SOURCE, 5).message


@pytest.mark.parametrize(
    ("http_status", "is_definite"),
    [(400, True), (401, True), (403, True), (404, True), (429, True), (302, True), (307, True)]
    + [(status, False) for status in (0, 204, 405, 408, 409, 413, 499, 500, 502, 503, 504)],
)
def test_c053_an_http_refusal_is_definite_where_nothing_can_have_been_done(http_status: int, is_definite: bool) -> None:
    error = judged(CREATE_NOTE, http_status, http_error(CREATE_NOTE, http_status, None))
    assert error.definite is is_definite


def test_an_error_row_proves_nothing() -> None:
    for code in (400, 403, 429, "NOT_FOUND"):
        assert not judged(CREATE_NOTE, 200, error_row_error(CREATE_NOTE, code)).definite


@pytest.mark.parametrize(
    ("error", "is_definite"),
    [
        (AuthRequired("redirected", details={"reason": "redirect"}), True),
        (AuthRequired("a web page came"), False),
        (AuthRequired("signed out", started=False), False),
        (CompanionOffline("gone"), False),
        (TabDiscarded("gone", details={"reason": "redirect"}), False),
    ],
)
def test_without_an_answer_only_a_redirect_is_a_no(error: GatewayError, is_definite: bool) -> None:
    assert judged(CREATE_NOTE, None, error).definite is is_definite


def test_a_number_of_the_companions_is_not_the_services() -> None:
    """`details` may hold anything that the worker says; without an answer it is no verdict of the service."""
    error = UpstreamRejected("x", details={"upstream_status": 5, "http_status": 400})
    assert not judged(CREATE_NOTE, None, error).definite


@pytest.mark.parametrize("code", [5, 7])
def test_c081_a_refused_document_is_told_as_such(code: int) -> None:
    about = maybe_document_refused(DRIVE, by_status(ADD_SOURCE, code))
    assert isinstance(about, NotFound)
    assert "Drive document 1DriveId" in about.message
    assert f"status {code}" in about.message
    assert "notebook" not in about.message
    assert about.details == {"rpc_id": ADD_SOURCE, "upstream_status": code, "doc_id": "1DriveId"}
    assert about.definite


def test_c081_other_refusals_and_other_sources_keep_their_error() -> None:
    assert maybe_document_refused(DRIVE, by_status(ADD_SOURCE, 8)) is None
    for spec in (TextSpec("T", "x"), WebSpec("https://a.example/")):
        assert maybe_document_refused(spec, by_status(ADD_SOURCE, 5)) is None
