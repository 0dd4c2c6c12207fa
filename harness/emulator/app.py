"""The emulated service as one ASGI application: the Host header chooses the site."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from harness.emulator import data_calls, gates, notebook_site, sign_in_site, upload_site
from harness.emulator.hosts import CONSENT_HOST, MARKETING_HOST, NOTEBOOK_HOSTS, SIGN_IN_HOST
from harness.emulator.pages import PATH_PREFIX
from harness.emulator.responses import answer_lifespan
from harness.emulator.service import Service
from harness.emulator.severing import remember_stream

BATCHEXECUTE_PATH: Final = f"{PATH_PREFIX}/data/batchexecute"
STREAM_PATH: Final = (
    f"{PATH_PREFIX}/data/google.internal.labs.tailwind.orchestration.v1.LabsTailwindOrchestrationService"
    "/GenerateFreeFormStreamed"
)


class HostDispatcher:
    """Hands a request to the site of its host; a host we do not emulate is misdirected (421)."""

    def __init__(self, sites: dict[str, ASGIApp]) -> None:
        self._sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await answer_lifespan(receive, send)
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
        remember_stream(scope, send)
        site = self._sites.get(host) or PlainTextResponse("This emulator does not answer for that host.", 421)
        await site(scope, receive, send)


def notebook_app(service: Service) -> ASGIApp:
    """Return the site that all four notebook hosts show."""
    return Starlette(
        routes=[
            Route("/", partial(notebook_site.page, service)),
            Route("/notebook/{notebook_id}", partial(notebook_site.page, service)),
            Route("/login", partial(notebook_site.login, service)),
            Route(BATCHEXECUTE_PATH, partial(data_calls.batchexecute, service), methods=["POST"]),
            Route(upload_site.UPLOAD_PATH, partial(upload_site.upload, service), methods=["POST"]),
            Route(STREAM_PATH, partial(data_calls.generate, service), methods=["POST"]),
        ]
    )


def sign_in_app(service: Service) -> ASGIApp:
    return Starlette(
        routes=[
            Route("/", sign_in_site.home),
            Route("/ServiceLogin", sign_in_site.home),
            Route("/AddSession", sign_in_site.home),
            Route("/v3/signin/identifier", partial(sign_in_site.form, service)),
            Route("/v3/signin/challenge", partial(_submit, service), methods=["POST"]),
            Route(gates.REJECTED_PATH, gates.rejected),
            Route("/Logout", partial(sign_in_site.sign_out, service)),
        ]
    )


async def _submit(service: Service, request: Request) -> Response:
    return gates.maybe_wall(service) or await sign_in_site.submit(service, request)


def consent_app(service: Service) -> ASGIApp:
    return Starlette(
        routes=[
            Route("/m", gates.consent),
            Route("/save", partial(gates.save_consent, service), methods=["POST"]),
        ]
    )


def marketing_app() -> ASGIApp:
    return Starlette(routes=[Route("/", gates.marketing)])


def service_app(service: Service) -> ASGIApp:
    """Return the whole service: four notebook hosts, the sign-in host, and the hosts of the gates."""
    site = notebook_app(service)
    return HostDispatcher(
        {
            **dict.fromkeys(NOTEBOOK_HOSTS, site),
            SIGN_IN_HOST: sign_in_app(service),
            CONSENT_HOST: consent_app(service),
            MARKETING_HOST: marketing_app(),
        }
    )
