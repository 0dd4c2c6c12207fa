"""The sign-in host: a small real form that sets the session cookies and leads back to a notebook host only."""

from __future__ import annotations

import html
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.emulator.hosts import DEFAULT_ORIGIN, NOTEBOOK_HOSTS
from harness.emulator.pages import sign_in_url
from harness.emulator.service import SESSION_COOKIE, Service
from harness.emulator.wire_json import Json, result_text

PASSWORD: Final = "first-light"  # noqa: S105  # of the emulated accounts, both
COOKIE_DOMAIN: Final = ".google.com"
COOKIE_LIFETIME_S: Final = 30 * 24 * 3600
_HEADERS: Final = {"cache-control": "no-store", "x-frame-options": "DENY"}


def safe_continue(url: str | None) -> str:
    """Return where to go after sign-in: ``url`` when it is on a notebook host over https, else the default host."""
    if url is not None:
        try:
            parts = urlsplit(url)
            on_host = parts.scheme == "https" and parts.hostname in NOTEBOOK_HOSTS and parts.port in (None, 443)
        except ValueError:
            on_host = False
        else:
            if on_host and parts.username is None:
                return url
    return f"{DEFAULT_ORIGIN}/"


async def home(request: Request) -> Response:
    """Lead every entrance of the sign-in host to the form."""
    return RedirectResponse(sign_in_url(safe_continue(request.query_params.get("continue"))), status_code=302)


async def form(service: Service, request: Request) -> Response:
    """Show the form. Its page has tokens and an application prefix of its own, which a client must not take."""
    return _page(safe_continue(request.query_params.get("continue")), "")


async def submit(service: Service, request: Request) -> Response:
    """Check e-mail and password; add the account to this browser's session or open one."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    email, password = fields.get("email", [""])[0], fields.get("password", [""])[0]
    target = safe_continue(fields.get("continue", [None])[0])
    known = [account.email for account in service.state.accounts]
    if email not in known or password != PASSWORD:
        return _page(target, "That e-mail and password do not match.", status=401)
    session = service.session(request) or service.state.open_session([])
    if email not in session.emails:
        session.emails.append(email)
    response = RedirectResponse(target, status_code=303, headers=_HEADERS)
    response.set_cookie(
        SESSION_COOKIE,
        session.token,
        max_age=COOKIE_LIFETIME_S,
        domain=COOKIE_DOMAIN,
        secure=True,
        httponly=True,
        samesite="none",
    )
    return response


async def sign_out(service: Service, request: Request) -> Response:
    """Sign all accounts of this browser out."""
    session = service.session(request)
    if session is not None:
        session.emails.clear()
    return RedirectResponse(sign_in_url(f"{DEFAULT_ORIGIN}/"), status_code=302, headers=_HEADERS)


def _page(target: str, message: str, status: int = 200) -> Response:
    data: dict[str, Json] = {
        "FdrFJe": "-1000000000000000001",
        "Im6cmf": "/_/SignInUi",
        "SNlM0e": "sign-in-page-token:1900000000000",
        "cfb2h": "boq_identityfrontendauthuiserver_20261101.00_p0",
        "eptZe": "/_/SignInUi/",
        "qwAQke": "SignInUi",
    }
    note = f"<p role=alert>{html.escape(message)}</p>" if message else ""
    page = (
        '<!doctype html><html lang="en"><head><title>Sign in (emulated)</title>'
        f"<script>window.WIZ_global_data = {result_text(data)};</script></head><body><main><h1>Sign in</h1>{note}"
        '<form method="post" action="/v3/signin/challenge">'
        f'<input type="hidden" name="continue" value="{html.escape(target, quote=True)}">'
        '<label>E-mail <input name="email" type="email" autocomplete="username" required></label> '
        '<label>Password <input name="password" type="password" autocomplete="current-password" required></label> '
        '<button type="submit">Sign in</button></form></main></body></html>'
    )
    return HTMLResponse(page, status_code=status, headers=_HEADERS)
