"""The pages that can stand between a person and the app: region, consent, and a refused sign-in.

The addresses are the service's own (wire reference, hosts); their text is ours. Which one stands there is
`Options.gate`. A consent is given by a click and remembered by the browser's session.
"""

from __future__ import annotations

import html
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.emulator.hosts import CONSENT_HOST, MARKETING_HOST, SIGN_IN_HOST
from harness.emulator.service import Service
from harness.emulator.sign_in_site import safe_continue

REJECTED_PATH: Final = "/v3/signin/rejected"


class Gate(StrEnum):
    OPEN = "open"
    REGION = "region"
    CONSENT = "consent"
    WALL = "wall"


def maybe_gate(service: Service, request: Request, url: str) -> Response | None:
    """Return the redirect that a signed-in browser gets in place of the app page at `url`, or None."""
    session = service.session(request)
    match service.state.options.gate:
        case Gate.REGION:
            return RedirectResponse(f"https://{MARKETING_HOST}/?location=unsupported", status_code=302)
        case Gate.CONSENT if session is not None and not session.has_consented:
            query = urlencode({"continue": url})
            return RedirectResponse(f"https://{CONSENT_HOST}/m?{query}", status_code=302)
        case _:
            return None


def maybe_wall(service: Service) -> Response | None:
    """Return the redirect that a browser gets whose sign-in is refused, or None."""
    if service.state.options.gate == Gate.WALL:
        return RedirectResponse(f"https://{SIGN_IN_HOST}{REJECTED_PATH}", status_code=303)
    return None


async def rejected(request: Request) -> Response:
    return _page("Could not sign you in (emulated)", "<p>This browser or app may not be secure.</p>")


async def marketing(request: Request) -> Response:
    return _page("Not available (emulated)", "<p>This service is not available where you are.</p>")


async def consent(request: Request) -> Response:
    target = html.escape(safe_continue(request.query_params.get("continue")), quote=True)
    form = (
        f'<form method="post" action="/save"><input type="hidden" name="continue" value="{target}">'
        '<button type="submit">Accept</button></form>'
    )
    return _page("Before you continue (emulated)", form)


async def save_consent(service: Service, request: Request) -> Response:
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    session = service.session(request)
    if session is not None:
        session.has_consented = True
    return RedirectResponse(safe_continue(fields.get("continue", [None])[0]), status_code=303)


def _page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><main><h1>{title}</h1>{body}</main>'
        "</body></html>",
        headers={"cache-control": "no-store"},
    )
