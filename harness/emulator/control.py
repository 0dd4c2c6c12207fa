"""The control endpoint: faults, state, what arrived, reset. Plain HTTP on loopback, for the holder of the token only.

No web page can use it: every request needs ``Authorization: Bearer <control_token>``, which a page can send across
origins only after a preflight, and a preflight gets the same 401 without any CORS header.
"""

from __future__ import annotations

import hmac
import json
from functools import partial
from typing import Final, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from harness.emulator.faults import BadFault, parse_fault
from harness.emulator.responses import answer_lifespan
from harness.emulator.service import Service
from harness.emulator.state_changes import BadChange, apply_changes, describe_state
from harness.emulator.wire_json import Json

MAX_BODY_BYTES: Final = 8 * 1024 * 1024


class BadBody(ValueError):
    """The body is not a JSON object of a bearable size."""


class BearerOnly:
    """Lets nobody in without the token, whatever the path and method."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "send the header `Authorization: Bearer <control_token>`"},
            status_code=401,
            headers={"www-authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)


def control_app(service: Service, token: str) -> ASGIApp:
    app = Starlette(
        routes=[
            Route("/faults", partial(_list_faults, service), methods=["GET"]),
            Route("/faults", partial(_add_fault, service), methods=["POST"]),
            Route("/faults", partial(_clear_faults, service), methods=["DELETE"]),
            Route("/state", partial(_get_state, service), methods=["GET"]),
            Route("/state", partial(_change_state, service), methods=["POST"]),
            Route("/uploads", partial(_uploads, service), methods=["GET"]),
            Route("/requests", partial(_requests, service), methods=["GET"]),
            Route("/requests", partial(_clear_requests, service), methods=["DELETE"]),
            Route("/reset", partial(_reset, service), methods=["POST"]),
        ]
    )
    return BearerOnly(app, token)


async def _list_faults(service: Service, request: Request) -> Response:
    return JSONResponse({"faults": [fault.describe() for fault in service.faults.waiting]})


async def _add_fault(service: Service, request: Request) -> Response:
    try:
        fault = parse_fault(await _json_object(request))
    except (BadBody, BadFault) as error:
        return _bad(error)
    service.faults.waiting.append(fault)
    return JSONResponse(fault.describe(), status_code=201)


async def _clear_faults(service: Service, request: Request) -> Response:
    service.faults.waiting.clear()
    return JSONResponse({"faults": []})


async def _get_state(service: Service, request: Request) -> Response:
    return JSONResponse(describe_state(service.state))


async def _change_state(service: Service, request: Request) -> Response:
    try:
        apply_changes(service.state, await _json_object(request))
    except (BadBody, BadChange) as error:
        return _bad(error)
    return JSONResponse(describe_state(service.state))


async def _uploads(service: Service, request: Request) -> Response:
    service.state.advance()
    return JSONResponse({"uploads": [upload.describe() for upload in service.state.uploads.values()]})


async def _requests(service: Service, request: Request) -> Response:
    return JSONResponse({"requests": [entry.describe() for entry in service.log.entries]})


async def _clear_requests(service: Service, request: Request) -> Response:
    service.log.entries.clear()
    return JSONResponse({"requests": []})


async def _reset(service: Service, request: Request) -> Response:
    service.reset()
    return JSONResponse({"ok": True})


async def _json_object(request: Request) -> dict[str, Json]:
    body = await request.body()
    if len(body) > MAX_BODY_BYTES:
        raise BadBody(f"the body has {len(body)} bytes, the limit is {MAX_BODY_BYTES}")
    try:
        value = cast("Json", json.loads(body))
    except ValueError as error:
        raise BadBody("the body is not JSON") from error
    if not isinstance(value, dict):
        raise BadBody("the body must be a JSON object")
    return value


def _bad(error: ValueError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)
