"""Running the emulator: hypercorn's Trio worker with TLS on one free port, the control endpoint on another."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast
from urllib.parse import urlsplit

import trio
from attrs import frozen
from hypercorn.config import Config
from hypercorn.trio import serve as run_hypercorn  # pyright: ignore[reportUnknownVariableType]  # its WSGI half
from hypercorn.typing import ASGIFramework
from starlette.types import ASGIApp

from harness.emulator.app import service_app
from harness.emulator.certificates import Certificates, issue_certificates
from harness.emulator.control import control_app
from harness.emulator.hosts import HOSTS, SIGN_IN_HOST
from harness.emulator.seed import World, default_world
from harness.emulator.service import SESSION_COOKIE, Service
from harness.emulator.sign_in_site import COOKIE_DOMAIN
from harness.emulator.state import ServiceState

GRACE_S: Final = 0.2
"""How long open answers may go on after the end was called."""
KEEP_ALIVE_S: Final = 300
"""Long, so that a browser does not write a request to a connection that is just being closed."""
_LOG: Final = logging.getLogger("harness.emulator")


@frozen
class Emulator:
    """A running emulator. ``address`` is where Chrome's resolver rules have to send ``hosts``."""

    url: str
    address: str
    port: int
    control_url: str
    control_token: str
    certificates: Certificates
    service: Service
    hosts: tuple[str, ...] = HOSTS

    @property
    def ca_file(self) -> Path:
        return self.certificates.ca_file

    @property
    def spki_sha256_b64(self) -> str:
        return self.certificates.spki_sha256_b64

    @property
    def state(self) -> ServiceState:
        return self.service.state

    @property
    def default_account(self) -> str:
        return self.service.state.accounts[0].email

    def cookies_for(self, accounts: Sequence[int] = (0, 1)) -> list[dict[str, object]]:
        """Sign a new browser in to these seed accounts (in this order) and return `Storage.setCookies` parameters."""
        emails = [self.service.state.accounts[index].email for index in accounts]
        session = self.service.state.open_session(emails)
        return [
            {
                "name": SESSION_COOKIE,
                "value": session.token,
                "domain": COOKIE_DOMAIN,
                "path": "/",
                "secure": True,
                "httpOnly": True,
                "sameSite": "None",
                "url": f"https://{SIGN_IN_HOST}/",
            }
        ]

    def secrets(self) -> frozenset[str]:
        """Return every value that must never leave the page or the browser, as it is now."""
        return self.service.state.secrets() | {self.control_token}


@asynccontextmanager
async def serve(
    *, folder: Path | None = None, make_world: Callable[[], World] = default_world, port: int = 0
) -> AsyncGenerator[Emulator]:
    """Run the emulator for as long as the block lasts.

    Args:
        folder: where the certificate files go; a temporary folder by default, removed at the end.
        make_world: builds what the service holds, at the start and at every reset.
        port: of the TLS listener; 0 takes a free one.
    """
    service = Service.start(make_world)
    token = secrets.token_urlsafe(24)
    failure: BaseException | None = None
    try:
        with TemporaryDirectory(prefix="notebook-emulator-") as temporary:
            certificates = issue_certificates(Path(temporary) if folder is None else folder)
            async with trio.open_nursery() as nursery:
                stop = trio.Event()
                tls = _config(port)
                tls.certfile, tls.keyfile = str(certificates.certificate_file), str(certificates.key_file)
                address = await _listen(nursery, service_app(service), tls, stop)
                control_url = await _listen(nursery, control_app(service, token), _config(0), stop)
                parts = urlsplit(address)
                assert parts.port is not None
                try:
                    yield Emulator(address, parts.netloc, parts.port, control_url, token, certificates, service)
                except BaseException as error:  # noqa: BLE001  # raised again below, outside the nursery's group
                    failure = error
                stop.set()
                # Open answers get their grace even when the block was cancelled, and not a moment more.
                nursery.cancel_scope.shield = True
                nursery.cancel_scope.deadline = trio.current_time() + 5 * GRACE_S
    finally:
        service.state.close()
    if failure is not None:
        raise failure


async def _listen(nursery: trio.Nursery, app: ASGIApp, config: Config, stop: trio.Event) -> str:
    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        framework = cast("ASGIFramework", app)  # hypercorn and starlette have two names for the same protocol
        await run_hypercorn(framework, config, shutdown_trigger=stop.wait, task_status=task_status, mode="asgi")

    addresses: list[str] = await nursery.start(run)
    return addresses[0]


def _config(port: int) -> Config:
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.alpn_protocols = ["http/1.1"]  # see `responses`
    config.accesslog = None
    config.errorlog = _LOG
    config.graceful_timeout = GRACE_S
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.include_server_header = False
    return config
