"""Storage: cookies of the whole browser."""

from __future__ import annotations

from typing import ClassVar

import attrs

from cdp.domains.protocol import Command, Nothing


@attrs.frozen
class Cookie:
    """A cookie as the browser keeps it; `expires` is seconds since 1970, or -1 for one of the session."""

    name: str
    value: str
    domain: str
    path: str
    expires: float
    httpOnly: bool
    secure: bool


@attrs.frozen
class CookieParam:
    """A cookie to set; either `url` or `domain` is needed."""

    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None
    secure: bool | None = None
    httpOnly: bool | None = None
    expires: float | None = None


@attrs.frozen
class GetCookiesResult:
    cookies: tuple[Cookie, ...]


@attrs.frozen
class GetCookies(Command[GetCookiesResult]):
    method: ClassVar[str] = "Storage.getCookies"
    result: ClassVar[type[object]] = GetCookiesResult


@attrs.frozen
class SetCookies(Command[Nothing]):
    method: ClassVar[str] = "Storage.setCookies"
    cookies: tuple[CookieParam, ...]
