"""Which hosts are this machine, a private network or nobody's? Pure: a host is judged by how it is written.

Addresses have many notations, and two parsers may read one of them differently (``010.0.0.1`` is 8.0.0.1 to browsers
and 10.0.0.1 to others). So every reading is judged, and one private reading is enough. Names are never looked up.

The ranges stand here instead of asking `ipaddress.is_global`, whose tables differ between versions of Python. Sources:
the IANA special-purpose address registries, and the URL standard for the notations of IPv4 ("host parsing").
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_CLOSED_IPV4: Final = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a provider's shared network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's metadata service"),  # Azure's; the others are in the ranges around it
        ("169.254.0.0/16", "a link-local or metadata address"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "a reserved range"),
        ("192.0.2.0/24", "a range for documentation"),
        ("192.88.99.0/24", "a reserved range"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "a range for benchmarks"),
        ("198.51.100.0/24", "a range for documentation"),
        ("203.0.113.0/24", "a range for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved range"),
    )
)
_PUBLIC_IPV6: Final = IPv6Network("2000::/3")
_CLOSED_IPV6: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("2001::/23", "a reserved range"),  # Teredo, benchmarks and ORCHID among them
        ("2001:db8::/32", "a range for documentation"),
        ("2002::/16", "a 6to4 address"),  # carries an IPv4 address of any kind
        ("3fff::/20", "a range for documentation"),
    )
)
_IPV6_NAMES: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/127", "this machine"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
_CARRIES_IPV4: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4-mapped, and the NAT64 prefix: the last four bytes are what is reached."""

_LOCAL_NAMES: Final = (
    "localhost",
    "local",
    "internal",
    "localdomain",
    "lan",
    "home.arpa",
    "intranet",
    "corp",
    "home",
    "private",
    "metadata.goog",
)
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")


class BadHost(ValueError):
    """The text is no host; the message says why."""


def maybe_closed(host: str) -> str | None:
    """Return what kind of closed place `host` is, or None for a public one. IPv6 addresses stand in brackets.

    Raises:
        BadHost: no reader could make one host of it.
    """
    if host.startswith("["):
        if not host.endswith("]"):
            raise BadHost("its [ has no ]")
        return _closed_ipv6(host[1:-1])
    name = plain_host(host)
    labels = name.split(".")
    if not all(labels):
        raise BadHost("it has an empty part between two dots")
    if _NUMBER.fullmatch(labels[-1]):
        return _closed_ipv4(labels)
    if any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES):
        return "a name of a local network"
    return "a name without a dot, which only a local network can know" if len(labels) == 1 else None


def plain_host(host: str) -> str:
    """Return `host` as every reader of international names sees it: compatible forms, small letters, no last dot.

    Full-width digits are digits, circled letters are letters, and invisible characters are nothing (UTS 46).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", host).casefold())
    visible = (character for character in folded if not _is_invisible(character))
    return "".join(visible).replace("\u3002", ".").removesuffix(".")


def _is_invisible(character: str) -> bool:
    # Format characters, the combining grapheme joiner, Mongolian and general variation selectors, Hangul fillers.
    return unicodedata.category(character) == "Cf" or (
        character in "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _closed_ipv4(labels: list[str]) -> str | None:
    """Judge a host whose last part is a number. Browsers take one to four parts; the last fills all bytes left."""
    readings = [reading for base in (8, 10) if (reading := _maybe_ipv4(labels, zero_means=base)) is not None]
    if not readings:
        raise BadHost("it ends in a number but is no IPv4 address")
    return next((what for address in readings if (what := _closed_range(address)) is not None), None)


def _maybe_ipv4(labels: list[str], *, zero_means: int) -> IPv4Address | None:
    if len(labels) > 4:
        return None
    numbers: list[int] = []
    for label in labels:
        number = _maybe_number(label, zero_means)
        if number is None:
            return None
        numbers.append(number)
    *bytes_, rest = numbers
    if any(each > 255 for each in bytes_) or rest >= 256 ** (4 - len(bytes_)):
        return None
    return IPv4Address(sum(each << (24 - 8 * place) for place, each in enumerate(bytes_)) + rest)


def _maybe_number(label: str, zero_means: int) -> int | None:
    if not _NUMBER.fullmatch(label) or len(label) > 40:
        return None
    if label[:2].lower() == "0x":
        return int(label[2:] or "0", 16)
    base = zero_means if label.startswith("0") else 10
    try:
        return int(label, base)
    except ValueError:  # an 8 or 9 among octal digits
        return None


def _closed_range(address: IPv4Address) -> str | None:
    return next((what for network, what in _CLOSED_IPV4 if address in network), None)


def _closed_ipv6(text: str) -> str | None:
    try:
        address = IPv6Address(text)
    except ValueError as error:
        raise BadHost("what stands in [ ] is no IPv6 address") from error
    if any(address in network for network in _CARRIES_IPV4):
        return _closed_range(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _PUBLIC_IPV6:
        return next((what for network, what in _IPV6_NAMES if address in network), "a reserved range")
    return next((what for network, what in _CLOSED_IPV6 if address in network), None)
