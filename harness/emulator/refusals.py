"""Refusals below the data layer: an HTTP status and a page, as any request to the notebook hosts can meet them."""

from __future__ import annotations

from collections.abc import Iterable

import trio
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.emulator import faults
from harness.emulator.pages import sign_in_url


async def fault_refusal(effects: Iterable[faults.Effect], request: Request) -> Response | None:
    """Wait for delays, then return the HTTP refusal that a fault asks for, if any."""
    for effect in effects:
        match effect:
            case faults.Delay():
                await trio.sleep(effect.delay_ms / 1000)
            case faults.Http429():
                headers = {} if effect.retry_after_s is None else {"retry-after": str(effect.retry_after_s)}
                return refusal_page(429, "too many requests", headers)
            case faults.HttpError():
                return refusal_page(effect.http_status, effect.reason, effect.headers)
            case faults.SignedOut(answer="redirect"):
                return RedirectResponse(sign_in_url(f"https://{request.headers['host']}/"), status_code=302)
            case faults.SignedOut():
                return refusal_page(401, "no session")
            case _:
                pass
    return None


def refusal_page(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    """Answer with HTML, as the service does when a request does not reach the data layer."""
    page = f"<!doctype html><title>Error {status}</title><p>{reason}"
    return HTMLResponse(page, status_code=status, headers=headers)
