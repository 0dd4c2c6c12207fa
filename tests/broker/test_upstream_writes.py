"""The writes of `broker.upstream`: one request each, never repeated, and errors that say what they prove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broker.calls import CallContext
from broker.companion import RpcReply
from broker.errors import (
    AuthRequired,
    CompanionOffline,
    GatewayError,
    InvalidArgument,
    NotFound,
    RateLimited,
    UpstreamRejected,
    UpstreamSchemaDrift,
)
from broker.fake_companion import Answer, FakeCompanion, reply_body, rows_body, status_body
from broker.requests import DriveSpec, TextSpec, WebSpec, YouTubeSpec
from broker.rpc_status import StaleToken
from broker.upstream import Upstream
from tests.shared import case_input, recordings

NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"
SOURCE = "5e000000-0001-4000-8000-000000000001"
NOTE = "40000000-0001-4000-8000-000000000001"
NOTE_PAYLOAD = [[NOTE, "text", [1, "100", [1900000000, 0]], None, "T"]]
SOURCE_PAYLOAD = [[[[SOURCE], "T", [None, 3], [None, 2]]]]

Write = Callable[[Upstream, CallContext], Awaitable[object]]
WRITES: dict[str, tuple[Write, Any]] = {
    "izAoDd": (lambda up, ctx: up.add_source(NOTEBOOK, TextSpec("T", "text"), ctx), SOURCE_PAYLOAD),
    "o4cbdc": (lambda up, ctx: up.register_file(NOTEBOOK, "a.txt", ctx), [[[[SOURCE], "a.txt"]]]),
    "CYK0Xb": (lambda up, ctx: up.create_note(NOTEBOOK, ctx), NOTE_PAYLOAD),
    "cYAfTb": (lambda up, ctx: up.fill_note(NOTEBOOK, NOTE, "T", "text", ctx), NOTE_PAYLOAD),
    "AH0mwd": (lambda up, ctx: up.delete_note(NOTEBOOK, NOTE, ctx), []),
}


def context() -> CallContext:
    return CallContext.starting_now(60, "00-trace")


async def error_of(rpc_id: str, *script: Answer) -> tuple[GatewayError, FakeCompanion]:
    companion = FakeCompanion()
    companion.answer(rpc_id, *script)
    with pytest.raises(GatewayError) as caught:
        await WRITES[rpc_id][0](Upstream(companion), context())
    return caught.value, companion


@pytest.mark.parametrize("rpc_id", WRITES)
async def test_a_write_is_one_request_of_its_notebook(rpc_id: str) -> None:
    write, payload = WRITES[rpc_id]
    companion = FakeCompanion()
    companion.answer(rpc_id, reply_body(rpc_id, payload))
    ctx = context()
    await write(Upstream(companion), ctx)
    (request,) = companion.requests
    assert (request.rpc_id, request.notebook) == (rpc_id, NOTEBOOK)
    assert ctx.hops == {"fetch_ms": 1.0}


async def test_recorded_answers_become_values() -> None:
    companion = FakeCompanion()
    for rpc_id in WRITES:
        companion.answer(rpc_id, recordings(rpc_id)[0]["response"]["body"])
    upstream, ctx = Upstream(companion), context()
    source = await upstream.add_source(NOTEBOOK, DriveSpec("d", "application/vnd.google-apps.document", ""), ctx)
    assert source.title == "Rubisco Research: Status and Future"
    name = recordings("o4cbdc")[0]["request"]["params"][0][0][0]
    assert await upstream.register_file(NOTEBOOK, name, ctx) == "dc84ca28-2629-49ac-aec3-de45f0ec93e4"
    note_id = await upstream.create_note(NOTEBOOK, ctx)
    assert (await upstream.fill_note(NOTEBOOK, note_id, "t", "x", ctx)).title == "VCR Test Note"
    await upstream.delete_note(NOTEBOOK, note_id, ctx)


@pytest.mark.parametrize("rpc_id", WRITES)
@pytest.mark.parametrize("http_status", [400, 401, 403])
async def test_c053_a_write_whose_token_was_refused_is_a_definite_no_and_not_sent_again(
    rpc_id: str, http_status: int
) -> None:
    error, companion = await error_of(rpc_id, RpcReply(http_status, "<html>\n"), reply_body(rpc_id, WRITES[rpc_id][1]))
    assert isinstance(error, StaleToken)
    assert f"HTTP {http_status}" in error.message
    assert error.definite
    assert [request.rpc_id for request in companion.requests] == [rpc_id]


CUT = reply_body("CYK0Xb", NOTE_PAYLOAD)[:-40]


@pytest.mark.parametrize(
    ("answer", "kind", "is_definite"),
    [
        (RpcReply(429, "", retry_after_s=30.0), RateLimited, True),
        (RpcReply(302, ""), AuthRequired, True),
        (RpcReply(503, "<html>\n"), UpstreamRejected, False),
        (RpcReply(200, "<html>\n"), AuthRequired, False),
        (CUT, UpstreamRejected, False),
        (reply_body("CYK0Xb", [["no id"]]), UpstreamSchemaDrift, False),
        (reply_body("wXbhsf", NOTE_PAYLOAD), UpstreamSchemaDrift, False),
        (rows_body([["wrb.fr", "CYK0Xb", None, None, None, None, "generic"]]), UpstreamSchemaDrift, False),
        (rows_body([["er", "CYK0Xb", 400]]), StaleToken, False),
        (status_body("CYK0Xb", 3), InvalidArgument, True),
        (status_body("CYK0Xb", 5), NotFound, True),
        (status_body("CYK0Xb", 13), UpstreamRejected, False),
        (CompanionOffline("gone"), CompanionOffline, False),
        (CompanionOffline("gone", started=False), CompanionOffline, False),
        (AuthRequired("redirected", details={"reason": "redirect"}), AuthRequired, True),
    ],
)
async def test_an_error_says_whether_the_service_refused_this_very_request(
    answer: Answer, kind: type[GatewayError], is_definite: bool
) -> None:
    error, companion = await error_of("CYK0Xb", answer)
    assert isinstance(error, kind)
    assert error.definite is is_definite
    assert error.started is not (isinstance(answer, GatewayError) and not answer.started)
    assert len(companion.requests) == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("C-057-numbers-only.txt", ""),
        ("C-057-with-sentence.txt", "You have reached today's limit. Try again tomorrow."),
    ],
)
async def test_c057_a_quota_refusal_of_a_note_is_definite_and_in_plain_words(name: str, sentence: str) -> None:
    error, _ = await error_of("CYK0Xb", case_input(name).read_text(encoding="utf-8"))
    assert isinstance(error, RateLimited)
    assert error.retryable
    assert error.definite
    assert "quota or rate limit" in error.message
    assert sentence in error.message
    assert "type.googleapis.com" not in error.message


@pytest.mark.parametrize("rpc_id", ["izAoDd", "o4cbdc"])
@pytest.mark.parametrize("code", [3, 9])
async def test_c076_an_ambiguous_refusal_of_a_source_stays_open(rpc_id: str, code: int) -> None:
    error, _ = await error_of(rpc_id, status_body(rpc_id, code))
    assert not error.definite
    assert "limit of sources" in error.message


@pytest.mark.parametrize("code", [5, 7])
async def test_c081_a_document_that_cannot_be_opened_is_not_a_missing_notebook(code: int) -> None:
    companion = FakeCompanion()
    companion.answer("izAoDd", status_body("izAoDd", code))
    spec = DriveSpec("1Document", "application/pdf", "")
    with pytest.raises(NotFound, match="Drive document 1Document") as caught:
        await Upstream(companion).add_source(NOTEBOOK, spec, context())
    assert caught.value.details["doc_id"] == "1Document"
    assert caught.value.definite


async def test_each_kind_of_source_has_its_own_slot() -> None:
    companion = FakeCompanion()
    companion.answer("izAoDd", reply_body("izAoDd", SOURCE_PAYLOAD))
    upstream = Upstream(companion)
    for spec in (
        TextSpec("T", "x"),
        WebSpec("https://a.example/"),
        YouTubeSpec("https://youtu.be/x"),
        DriveSpec("d", "m/n", ""),
    ):
        await upstream.add_source(NOTEBOOK, spec, context())
    sent: list[Any] = [request.params for request in companion.requests]
    filled = [next(index for index, value in enumerate(params[0][0]) if value) for params in sent]
    assert filled == [1, 2, 7, 0]


async def test_an_answer_about_another_note_is_drift() -> None:
    companion = FakeCompanion()
    companion.answer("cYAfTb", reply_body("cYAfTb", NOTE_PAYLOAD))
    with pytest.raises(UpstreamSchemaDrift) as caught:
        await Upstream(companion).fill_note(NOTEBOOK, SOURCE, "T", "text", context())
    assert not caught.value.definite


async def test_c053_listing_notes_is_a_read_and_repeated_once_with_a_fresh_token() -> None:
    companion = FakeCompanion()
    companion.answer("cFji9", RpcReply(400, ""), case_input("C-074-notes-mixed.txt").read_text(encoding="utf-8"))
    notes = await Upstream(companion).list_notes(NOTEBOOK, context())
    assert [note.title for note in notes.notes] == ["One", "Four"]
    assert [request.rpc_id for request in companion.requests] == ["cFji9", "identity", "cFji9"]


@pytest.mark.parametrize("name", ["C-058-other-id.txt", "C-058-no-data-frame.txt"])
async def test_c058_an_answer_without_our_method_is_drift_and_no_empty_list(name: str) -> None:
    companion = FakeCompanion()
    companion.answer("cFji9", case_input(name).read_text(encoding="utf-8"))
    with pytest.raises(UpstreamSchemaDrift, match="cFji9"):
        await Upstream(companion).list_notes(NOTEBOOK, context())
