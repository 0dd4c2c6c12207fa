"""Reading a data call as it arrives, checked exactly (wire reference §2.1, §8.1). Pure; HTTP is in ``data_calls``."""

from __future__ import annotations

import json
from typing import Final, cast
from urllib.parse import parse_qsl, urlencode

from attrs import frozen

from harness.emulator.wire_json import Json

FORM_TYPE: Final = "application/x-www-form-urlencoded;charset=utf-8"


class BadRequest(Exception):
    """The request is not one that the service's own page would send; answered with HTTP 400 and this text."""


@frozen
class DataCall:
    """One decoded call. ``rpc_id`` is null for the streamed question."""

    rpc_id: str | None
    params: list[Json]
    at: str
    query: dict[str, str]


def parse_batchexecute(query_text: str, content_type: str, body: bytes) -> DataCall:
    """Read ``f.req=[[[id, params as JSON text, null, "generic"]]]&at=…&``.

    Raises:
        BadRequest: anything differs from that form, or the id in the query is another one than in the body.
    """
    query = _query(query_text, required=("rpcids", "source-path", "f.sid", "rt"))
    f_req, at = _form(content_type, body)
    match _json(f_req, "f.req"):
        case [[[str(rpc_id), str(params_text), None, "generic"]]]:
            pass
        case _:
            raise BadRequest('f.req is not [[["<id>","<params>",null,"generic"]]]')
    if query["rpcids"] != rpc_id:
        raise BadRequest(f"rpcids={query['rpcids']} but the body asks for {rpc_id}")
    return DataCall(rpc_id, _params(params_text), at, query)


def parse_stream(query_text: str, content_type: str, body: bytes) -> DataCall:
    """Read ``f.req=[null, params as JSON text]&at=…&``.

    Raises:
        BadRequest: anything differs from that form.
    """
    query = _query(query_text, required=("bl", "_reqid", "f.sid", "rt"))
    if not query["_reqid"].isdigit():
        raise BadRequest("_reqid is not a number")
    f_req, at = _form(content_type, body)
    match _json(f_req, "f.req"):
        case [None, str(params_text)]:
            return DataCall(None, _params(params_text), at, query)
        case _:
            raise BadRequest('f.req is not [null,"<params>"]')


def _query(text: str, *, required: tuple[str, ...]) -> dict[str, str]:
    pairs = parse_qsl(text, keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs):
        raise BadRequest("a query key is there twice")
    missing = [key for key in required if key not in query]
    if missing:
        raise BadRequest(f"query lacks {', '.join(missing)}")
    if query["rt"] != "c":
        raise BadRequest(f"rt={query['rt']}: this emulator only has chunked answers (rt=c)")
    return query


def _form(content_type: str, body: bytes) -> tuple[str, str]:
    if content_type.replace(" ", "").lower() != FORM_TYPE:
        raise BadRequest(f"content type {content_type!r} is not {FORM_TYPE!r}")
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=False, errors="strict")
    except ValueError as error:
        raise BadRequest("the body is not URL-encoded UTF-8") from error
    if [key for key, _ in pairs] != ["f.req", "at"] or not text.endswith("&"):
        raise BadRequest("the body is not f.req=…&at=…&")
    return pairs[0][1], pairs[1][1]


def _params(text: str) -> list[Json]:
    params = _json(text, "params")
    if not isinstance(params, list):
        raise BadRequest("params are not a list")
    return params


def _json(text: str, what: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError as error:
        raise BadRequest(f"{what} is not JSON") from error


def encode_batchexecute(rpc_id: str, params: list[Json], at: str) -> bytes:
    """Write the body that ``parse_batchexecute`` reads; for tests and benches that talk to the emulator directly."""
    inner = json.dumps(params, ensure_ascii=False, separators=(",", ":"))
    outer = json.dumps([[[rpc_id, inner, None, "generic"]]], ensure_ascii=False, separators=(",", ":"))
    return (urlencode({"f.req": outer, "at": at}) + "&").encode("ascii")


def encode_stream(params: list[Json], at: str) -> bytes:
    """Write the body that ``parse_stream`` reads."""
    inner = json.dumps(params, ensure_ascii=False, separators=(",", ":"))
    outer = json.dumps([None, inner], ensure_ascii=False, separators=(",", ":"))
    return (urlencode({"f.req": outer, "at": at}) + "&").encode("ascii")
