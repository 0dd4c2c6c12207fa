"""From what a person can name (``http://…``, ``ws://…``) to the WebSocket address of a browser.

Knows a browser on this machine, one in a container or on another machine, a Selenium Grid session, and Chrome's
user-approved debugging, which serves no HTTP at all (case C-095). Proxy variables are never read (case C-096).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import attrs
import trio

from cdp.errors import BadMessage, ConnectFailed
from cdp.http_json import HttpStatus, get_json
from cdp.messages import JsonObject, text_field
from cdp.port_file import FILE_NAME, maybe_cdp_url

CONSENT_TIMEOUT_S: Final = 60.0
"""How long a person may take to answer the consent window: `connect_timeout_s` for an endpoint that `needs_consent`."""
RESOLVE_TIMEOUT_S: Final = 5.0
_NOT_FOUND: Final = 404
_GRID_SESSION: Final = re.compile(r"(?P<session>(?:/wd/hub)?/session/[^/]+)(?:/se/cdp)?/?")


@attrs.frozen
class Endpoint:
    """Where a browser is debugged.

    `browser` is its product and version if it said so. `is_local` says that the address is this machine's own and no
    Grid's; a container that publishes its port on loopback looks the same from here. With `needs_consent` each
    connection opens a window that a person must approve: open one, and keep it.
    """

    ws_url: str
    browser: str | None
    is_local: bool
    needs_consent: bool = False


async def resolve_endpoint(
    url: str, *, timeout_s: float = RESOLVE_TIMEOUT_S, profile_folders: Sequence[Path] = ()
) -> Endpoint:
    """Return the endpoint that `url` means.

    A ``ws://`` URL with a path is taken as it is. Otherwise the browser is asked for ``/json/version``; if it answers
    404, the port files in `profile_folders` are searched for the path that belongs to this port.

    Raises:
        ConnectFailed: it is no such URL, nothing answers there, or what answers is no browser. Says what to do.
    """
    parts, port = _split(url)
    host = parts.hostname or ""
    is_local = is_loopback(host)
    grid = _GRID_SESSION.fullmatch(parts.path)
    if grid is not None:
        return Endpoint(f"ws://{parts.netloc}{grid['session']}/se/cdp", None, is_local=False)
    if parts.scheme == "ws" and parts.path not in ("", "/"):
        return Endpoint(url, None, is_local)
    with trio.move_on_after(timeout_s) as scope:
        address = await _address(host, port)
        try:
            version = _object(await get_json(address, port, "/json/version", timeout_s=timeout_s))
            debugger = urlsplit(text_field(version, "webSocketDebuggerUrl"))
            browser = text_field(version, "Browser")
        except HttpStatus as error:
            if error.status != _NOT_FOUND:
                raise
            return await _without_http(host, port, profile_folders)
        except (BadMessage, ValueError) as error:
            raise ConnectFailed(f"{url} is no debugging port of a browser: {error}") from None
        # A browser in a container names an address of its own; the one that we reached it at is the one that works.
        return Endpoint(f"ws://{_bracketed(address)}:{port}{debugger.path}", browser, is_local)
    assert scope.cancelled_caught
    raise ConnectFailed(f"{url} did not answer within {timeout_s:g} s")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's loopback; looks nothing up."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as error:
        raise ConnectFailed(f"{url!r} is no URL: {error}") from None
    if parts.scheme in ("https", "wss"):
        raise ConnectFailed(f"{url!r}: TLS is not supported; tunnel the port to this machine and give ws:// or http://")
    if parts.scheme not in ("http", "ws") or not parts.hostname:
        raise ConnectFailed(f"{url!r} is no http:// or ws:// URL of a browser, such as http://127.0.0.1:9222")
    return parts, port


async def _address(host: str, port: int) -> str:
    """Return `host`, or its address if it is a name: Chrome refuses names, against DNS rebinding (HTTP 500)."""
    try:
        ip_address(host)
        return host
    except ValueError:
        pass
    if host.lower() == "localhost":
        return host
    try:
        found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectFailed(f"the host name {host} is not known: {error}") from None
    return str(found[0][4][0])


async def _without_http(host: str, port: int, profile_folders: Sequence[Path]) -> Endpoint:
    """Return the endpoint of a browser that serves no HTTP: the path is in its profile's port file (case C-095)."""
    if is_loopback(host):
        for folder in profile_folders:
            try:
                text = await trio.Path(folder, FILE_NAME).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            cdp_url = maybe_cdp_url(text)
            if cdp_url is not None and urlsplit(cdp_url).port == port:
                return Endpoint(cdp_url, None, is_local=True, needs_consent=True)
    raise ConnectFailed(
        f"http://{_bracketed(host)}:{port}/json/version answers 404: either Chrome's user-approved debugging, or no "
        f"browser. For Chrome, give the ws:// URL made of the two lines in its profile's {FILE_NAME}; for a Selenium "
        "Grid, give ws://…/session/<id>/se/cdp."
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise BadMessage(f"expected an object, saw {type(value).__name__}")
    return value  # pyright: ignore[reportUnknownVariableType]  # JSON objects have string keys
