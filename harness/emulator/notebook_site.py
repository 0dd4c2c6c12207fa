"""The pages of the notebook hosts: bootstrap, redirects between hosts, and the two ways of being signed out."""

from __future__ import annotations

import secrets
import time
from typing import Final

import trio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.emulator import faults
from harness.emulator.drift import NoSuchSlot, drifted
from harness.emulator.gates import maybe_gate
from harness.emulator.model import Account
from harness.emulator.pages import PRIVATE_KEYS, app_headers, app_page, page_data, sign_in_url
from harness.emulator.request_log import Entry
from harness.emulator.responses import PacedResponse, one_piece
from harness.emulator.service import Service
from harness.emulator.wire_json import Json

_NOBODY: Final = Account("", "")


async def page(service: Service, request: Request) -> Response:
    """Answer ``GET /`` and ``GET /notebook/<ID>``; the page is the same, the app behind it is not emulated."""
    host = request.headers["host"]
    selected = service.state.signed_in(service.session(request), request.query_params.get("authuser"))
    entry = _log(service, request, host, None if selected is None else selected[0])
    hits = service.faults.take("page", entry.account)
    entry.faults = [fault.kind for fault in hits]
    response = await _respond(service, request, host, selected, [fault.effect for fault in hits])
    entry.status = response.status_code
    return response


async def _respond(
    service: Service,
    request: Request,
    host: str,
    selected: tuple[Account, int] | None,
    effects: list[faults.Effect],
) -> Response:
    cut: faults.Disconnect | None = None
    drifts: list[faults.Drift] = []
    for effect in effects:
        match effect:
            case faults.Delay():
                await trio.sleep(effect.delay_ms / 1000)
            case faults.Http429():
                headers = {} if effect.retry_after_s is None else {"retry-after": str(effect.retry_after_s)}
                return HTMLResponse("<!doctype html><title>Too many requests</title>", 429, headers)
            case faults.HttpError():
                return HTMLResponse("<!doctype html><title>Error</title>", effect.http_status)
            case faults.Body():
                return HTMLResponse(effect.body)
            case faults.SignedOut():
                selected = None
            case faults.Drift():
                drifts.append(effect)
            case faults.Disconnect():
                cut = effect
            case _:
                pass
    if selected is None:
        return _signed_out(service, request, host)
    account, index = selected
    moved = service.state.options.host_redirects.get(account.email, {}).get(host)
    if moved is not None:
        return RedirectResponse(str(request.url.replace(scheme="https", netloc=moved)), status_code=302)
    gate = maybe_gate(service, request, str(request.url.replace(scheme="https", netloc=host)))
    if gate is not None:
        return gate
    data: Json = page_data(service.state, account, index, int(time.time() * 1000))
    try:
        for drift in drifts:
            data = drifted(data, drift)
    except NoSuchSlot as error:
        return HTMLResponse(f"<!doctype html><title>Drift fault</title><p>{error}", 500)
    return _page_response(data, f"Signed in as {account.email}", cut)


def _page_response(data: Json, greeting: str, cut: faults.Disconnect | None) -> Response:
    nonce = secrets.token_urlsafe(16)
    assert isinstance(data, dict)  # drift changes keys of the object, never the object
    body = app_page(data, nonce, greeting).encode()
    response = PacedResponse(one_piece(body), cut=cut)
    for name, value in app_headers(nonce):
        response.headers.append(name, value)
    return response


def _signed_out(service: Service, request: Request, host: str) -> Response:
    if service.state.options.signed_out_page == "redirect":
        here = str(request.url.replace(scheme="https", netloc=host))
        return RedirectResponse(sign_in_url(here), status_code=302)
    data = page_data(service.state, _NOBODY, 0, 0)
    public: dict[str, Json] = {key: value for key, value in data.items() if key not in PRIVATE_KEYS}
    return _page_response(public, "You are signed out.", None)


async def login(service: Service, request: Request) -> Response:
    """Answer ``GET /login``, which tells the two states apart even when ``GET /`` does not."""
    host = request.headers["host"]
    selected = service.state.signed_in(service.session(request), request.query_params.get("authuser"))
    entry = _log(service, request, host, None if selected is None else selected[0])
    entry.status = 302
    target = f"https://{host}/"
    return RedirectResponse(sign_in_url(target) if selected is None else target, status_code=302)


def _log(service: Service, request: Request, host: str, account: Account | None) -> Entry:
    return service.log.add(
        Entry(
            target="page",
            host=host,
            path=request.url.path,
            query_keys=sorted(request.query_params),
            account=None if account is None else account.email,
            authuser=request.query_params.get("authuser"),
        )
    )
