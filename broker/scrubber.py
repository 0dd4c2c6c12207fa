"""Take secrets out of text before it is logged, or leaves for the agent. Pure.

By design no token, cookie or session id reaches this process. This is the second line: if one ever slips into an error
text, a service answer or a log record, it goes no further (C-029). Three strengths:

* `scrub_text`, for what we say ourselves (log records, error messages): everything that looks like a secret, and
  addresses lose their query. Better one word too many than one too few.
* `scrub_quoted`, for sentences of the service inside ours: also every word that looks like a token.
* `scrub_content`, for what sources and the model say: only what is unmistakable by its name or shape, because a text
  about cookies, a long number or an address with a query is content that must arrive as it is. The length stays, so
  that spans into the text stay true.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, cast

REMOVED: Final = "[removed]"
MASK: Final = "*"

_VALUE = r"(?P<secret>[^\s\"'&;,<>\\)\]}]{6,})"

_CONTENT_RULES: Final = tuple(
    map(
        re.compile,
        (
            # A member of the page's own data, as JSON or as JSON inside JSON text: "SNlM0e":"…"
            r"\b(?:SNlM0e|FdrFJe|WZsZ1e)\W{1,8}(?P<secret>[^\s\"'\\,}]{6,})",
            # The CSRF value: a token, a colon or its escape, 13 digits of milliseconds (wire reference, section 1).
            r"\b(?P<secret>A[A-Za-z0-9_-]{15,}(?::|%3A)\d{13})\b",
            # Cookies by name: Google's session cookies carry a prefix or end in SID, SIDTS, SIDCC.
            r"__(?:Secure|Host)-[A-Za-z0-9_-]+=" + _VALUE,
            r"\b(?:SAPISID|APISID|SSID|HSID|LSID|OSID|NID|SIDTS|SIDCC|SID)=" + _VALUE,
            # The shape of a SAPISID value: 16 characters, a slash, 17 characters, letters of both cases and digits.
            r"(?<![\w/-])(?P<secret>(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{16}/(?=[\w-]*\d)[\w-]{17})(?![\w/-])",
            r"\bupload_id=(?P<secret>[A-Za-z0-9_-]{6,})",
            r"(?i:\b(?:bearer|sapisidhash))\s+(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        ),
    )
)

_STRICT_RULES: Final = (
    *_CONTENT_RULES,
    *map(
        re.compile,
        (
            # Addresses of the sign-in host carry grants in their path; other addresses carry secrets in their query.
            r"https?://accounts\.google\.[a-z.]+[/?#](?P<secret>[^\s\"'<>]+)",
            r"https?://[^\s\"'<>?#]+[?#](?P<secret>[^\s\"'<>]+)",
            r"\b(?:at|f\.sid|token|access_token|refresh_token|code|key)=" + _VALUE,
            # An account id (21 digits), and a session id (a signed 64-bit number).
            r"(?<![\w.])(?P<secret>1\d{20}|-?\d{18,19})(?!\w)",
        ),
    ),
)

# A long word of capitals, digits and more is a token to the people who would read it, whatever stands around it.
_TOKEN_WORD: Final = re.compile(r"(?<![\w-])(?P<secret>(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{16,})")

# What every content rule needs to match. Plain words and patterns with a plain beginning: one pattern for all of it
# takes 40 times as long (11 ms for a page of 50 sources, measured).
_WORDS: Final = ("SNlM0e", "FdrFJe", "WZsZ1e", "__Secure-", "__Host-", "SID=", "SIDTS=", "SIDCC=", "NID=", "upload_id=")
_WORDS_IN_ANY_CASE: Final = ("bearer", "sapisidhash")
_SHAPES: Final = tuple(map(re.compile, (r":\d{13}", r"%3A\d{13}", r"/[\w-]{17}")))


def scrub_text(text: str) -> str:
    """Return `text` of ours without anything that looks like a secret."""
    return _apply(_STRICT_RULES, text, lambda secret: REMOVED)


def scrub_quoted(text: str) -> str:
    """Return words of the service that we quote to people without anything that looks like a secret or a token.

    Stricter than `scrub_text`, which must leave titles and paths as they are.
    """
    return _apply((*_STRICT_RULES, _TOKEN_WORD), text, lambda secret: REMOVED)


def scrub_content(text: str) -> str:
    """Return `text` of a source or the model with what is unmistakably a secret masked, in the same length."""
    if not may_hold_secret(text):
        return text
    return _apply(_CONTENT_RULES, text, lambda secret: MASK * len(secret))


def may_hold_secret(text: str) -> bool:
    """Tell cheaply whether `scrub_content` could change `text`, or any text inside the JSON document `text`."""
    if any(word in text for word in _WORDS) or any(shape.search(text) for shape in _SHAPES):
        return True
    lowered = text.lower()
    return any(word in lowered for word in _WORDS_IN_ANY_CASE)


def scrub_json(value: object, scrub: Callable[[str], str]) -> object:
    """Return the JSON value with `scrub` applied to every text in it; keys are names of ours and stay."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_json(item, scrub) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: scrub_json(item, scrub) for key, item in cast("dict[str, object]", value).items()}
    return value


def _apply(rules: tuple[re.Pattern[str], ...], text: str, fill: Callable[[str], str]) -> str:
    def replace(found: re.Match[str]) -> str:
        start, end = (offset - found.start() for offset in found.span("secret"))
        return f"{found[0][:start]}{fill(found['secret'])}{found[0][end:]}"

    for rule in rules:
        text = rule.sub(replace, text)
    return text
