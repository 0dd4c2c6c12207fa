"""Reading requests exactly: only what the service's own page would send gets through."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.emulator.requests import (
    BadRequest,
    encode_batchexecute,
    encode_stream,
    parse_batchexecute,
    parse_stream,
)
from tests.shared import recordings

FORM = "application/x-www-form-urlencoded;charset=UTF-8"
QUERY = "rpcids=rLM1Ne&source-path=%2F&f.sid=-12&rt=c"
STREAM_QUERY = "bl=boq&_reqid=100000&f.sid=-12&rt=c"


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_the_form(text: str) -> None:
    assert parse_batchexecute(QUERY, FORM, encode_batchexecute("rLM1Ne", [text], "t:1")).params == [text]
    call = parse_stream(STREAM_QUERY, FORM, encode_stream([text], "t:1"))
    assert (call.params, call.at, call.rpc_id) == ([text], "t:1", None)


def test_recorded_parameters_are_read_as_they_are() -> None:
    for rpc_id in ("wXbhsf", "rLM1Ne", "hizoJc", "tr032e", "hPTbtc"):
        for line in recordings(rpc_id):
            query = urlencode({"rpcids": rpc_id, **line["request"]["query"]})
            query = urlencode({**line["request"]["query"], "rpcids": rpc_id})
            body = encode_batchexecute(rpc_id, line["request"]["params"], "t:1")
            assert parse_batchexecute(query, FORM, body).params == line["request"]["params"]


@pytest.mark.parametrize(
    ("query", "content_type", "body", "reason"),
    [
        (QUERY.replace("rLM1Ne", "wXbhsf"), FORM, None, "rpcids=wXbhsf but the body asks for rLM1Ne"),
        (QUERY.replace("&rt=c", ""), FORM, None, "query lacks rt"),
        (QUERY.replace("rt=c", "rt=b"), FORM, None, "only has chunked answers"),
        (QUERY + "&rt=c", FORM, None, "twice"),
        (QUERY.replace("f.sid", "fsid"), FORM, None, "query lacks f.sid"),
        (QUERY, "application/json", None, "content type"),
        (QUERY, "application/x-www-form-urlencoded", None, "content type"),
        (QUERY, FORM, b"f.req=[]&at=x&", r"\[\[\[\"<id>\""),
        (QUERY, FORM, b"f.req=nonsense&at=x&", "f.req is not JSON"),
        (QUERY, FORM, b"f.req=[[[%22rLM1Ne%22,%22{}%22,null,%22generic%22]]]&at=x&", "params are not a list"),
        (QUERY, FORM, b"f.req=[[[%22rLM1Ne%22,%22[%22,null,%22generic%22]]]&at=x&", "params is not JSON"),
        (QUERY, FORM, b"f.req=[[[%22rLM1Ne%22,%22[]%22,null,%221%22]]]&at=x&", "generic"),
        (QUERY, FORM, b"f.req=[]&", "at="),
        (QUERY, FORM, encode_batchexecute("rLM1Ne", [], "x")[:-1], "at=…&"),
        (QUERY, FORM, b"\xff", "URL-encoded"),
        (QUERY, FORM, b"f.req=%ff&at=x&", "URL-encoded"),
    ],
)
def test_anything_else_is_a_bad_request_that_says_why(
    query: str, content_type: str, body: bytes | None, reason: str
) -> None:
    with pytest.raises(BadRequest, match=reason):
        parse_batchexecute(query, content_type, encode_batchexecute("rLM1Ne", [], "t:1") if body is None else body)


@pytest.mark.parametrize(
    ("query", "outer", "reason"),
    [
        (STREAM_QUERY.replace("100000", "abc"), [None, "[]"], "_reqid"),
        (STREAM_QUERY.replace("bl=", "b="), [None, "[]"], "query lacks bl"),
        (STREAM_QUERY, ["x", "[]"], r"\[null,"),
        (STREAM_QUERY, [None, []], r"\[null,"),
    ],
)
def test_a_question_in_another_form_is_a_bad_request(query: str, outer: Any, reason: str) -> None:
    body = (urlencode({"f.req": json.dumps(outer), "at": "t:1"}) + "&").encode()
    with pytest.raises(BadRequest, match=reason):
        parse_stream(query, FORM, body)
