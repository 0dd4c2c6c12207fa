"""What the page in a browser is, judged by its address alone. Pure.

Decided on the parsed host, compared exactly (cases C-049, C-050): never on a part of the text, which anybody can put
into a query. The hosts are data; `extension/lib/hosts.js` has the same list, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

import attrs

NOTEBOOK_HOSTS: Final = (
    "notebook.google.com",
    "notebooklm.google.com",
    "notebook.cloud.google.com",
    "notebooklm.cloud.google.com",
)
SIGN_IN_HOST: Final = "accounts.google.com"
CONSENT_HOSTS: Final = ("consent.google.com", "consents.google.com")
MARKETING_HOSTS: Final = ("notebooklm.google", "notebook.google")
"""Where the service sends an account that it does not serve: ``notebooklm.google/?location=unsupported`` for a
region, or ``notebook.google/`` (wire reference, hosts)."""


class PageKind(StrEnum):
    APP = "app"
    SIGN_IN = "sign_in"
    WALL = "wall"
    """Google refuses to let anybody sign in in this browser."""
    CONSENT = "consent"
    REGION = "region"
    OTHER = "other"
    NONE = "none"


@attrs.frozen
class PageState:
    """The most telling page of a browser. `host` is what messages may show; paths and queries hold personal data."""

    kind: PageKind
    host: str = ""


# A browser can show several pages: the first kind of this list that is among them is what the person should know.
_TELLING: Final = (PageKind.APP, PageKind.WALL, PageKind.REGION, PageKind.CONSENT, PageKind.SIGN_IN, PageKind.OTHER)


def page_kind(url: str) -> PageKind:
    """Say what the page at `url` is."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return PageKind.OTHER
    if url in ("", "about:blank") or parts.scheme in ("chrome", "chrome-extension", "devtools"):
        return PageKind.NONE
    if parts.scheme != "https" or port not in (None, 443) or parts.username is not None or parts.password is not None:
        return PageKind.OTHER
    host = parts.hostname
    if host in NOTEBOOK_HOSTS:
        return PageKind.APP
    if host in MARKETING_HOSTS:
        return PageKind.REGION
    if host in CONSENT_HOSTS:
        return PageKind.CONSENT
    if host == SIGN_IN_HOST:
        return PageKind.WALL if parts.path.rstrip("/").endswith("/signin/rejected") else PageKind.SIGN_IN
    return PageKind.OTHER


def most_telling(urls: Iterable[str]) -> PageState:
    """Return what the pages of a browser amount to."""
    states = [PageState(page_kind(url), urlsplit(url).hostname or "") for url in urls if _is_readable(url)]
    for kind in _TELLING:
        for state in states:
            if state.kind is kind:
                return state
    return PageState(PageKind.NONE)


def notebook_url(account: str) -> str:
    """Return the address of the notebook list for one account. The address selects the account; an index can shift."""
    return f"https://{NOTEBOOK_HOSTS[0]}/?authuser={quote(account, safe='')}"


def sign_in_url(account: str | None, *, beside_others: bool = False) -> str:
    """Return where a person signs in; the page then leads on to the notebook list.

    With `beside_others` it asks for one more account: where somebody is signed in already, the plain entrance leads
    straight on to that person's notebooks.
    """
    target = notebook_url(account) if account else f"https://{NOTEBOOK_HOSTS[0]}/"
    hint = f"&Email={quote(account, safe='')}" if account else ""
    entrance = "AddSession" if beside_others else "ServiceLogin"
    return f"https://{SIGN_IN_HOST}/{entrance}?continue={quote(target, safe='')}{hint}"


def is_page_of(url: str, account: str) -> bool:
    """Whether `url` is a page of the app that was opened for this very account by its address."""
    if page_kind(url) is not PageKind.APP:
        return False
    chosen = parse_qs(urlsplit(url).query).get("authuser", [""])[0]
    return chosen.lower() == account.lower()


def _is_readable(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True
