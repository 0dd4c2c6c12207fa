"""Which web addresses may be added as sources, and which of them are YouTube videos (C-077). Pure.

Nothing is looked up: the service fetches the page from its own network, not we. What is refused here is what could only
be meant for this machine or a private network, and what two readers could take for two addresses. A public name that
somebody points at a private address is beyond this check, and within the service's.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs

from attrs import frozen

from broker.errors import InvalidArgument
from broker.host_ranges import BadHost, maybe_closed, plain_host

_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""C0 control characters and the blank, as the URL standard strips them at both ends."""
_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?", re.I
)
_BREAKS: Final = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_HOST_AND_PORT: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
_NOT_IN_HOSTS: Final = re.compile(r"[%<>^|\"`{}\\\s/?#@]")

_YOUTUBE_HOSTS: Final = frozenset(
    {"youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "youtube-nocookie.com"}
    | {"www.youtube-nocookie.com"}
)
_VIDEO_ID: Final = re.compile(r"[A-Za-z0-9_-]{11}")
_VIDEO_PATH: Final = re.compile(r"/(?:shorts|live|embed|v)/([^/]+)/?")
_NO_VIDEO_IDS: Final = frozenset({"videoseries", "live_stream"})
"""Players of a playlist and of a channel; as long as an id, and none."""


@frozen
class WebAddress:
    """An address to pass on. `is_video` says which form of the request it takes."""

    url: str
    is_video: bool


def check_url(url: str, *, allow_private: bool) -> WebAddress:
    """Return the address, unchanged but for blanks and control characters at its ends.

    Raises:
        InvalidArgument: no http or https address, one with a user name, or (unless `allow_private`) a host of this
            machine, a private network or a reserved range, in whatever notation.
    """
    trimmed = url.strip(_TRIMMED)
    match = _ADDRESS.match(trimmed)
    if match is None:
        raise _refused(_scheme_problem(trimmed), "Pass a whole address such as https://example.com/page.")
    if broken := _BREAKS.search(trimmed):
        raise _refused(
            f"holds a blank or control character (U+{ord(broken[0]):04X}) inside",
            "Remove it, or write it percent-encoded: a blank is %20.",
        )
    if not _is_encodable(trimmed):
        raise _refused("holds half of a surrogate pair", "Pass the address as plain text.")
    authority, path = match["authority"], match["path"]
    if "\\" in authority + path:  # browsers read it as a slash, others as part of a name
        raise _refused("holds a backslash", "Write a slash, or %5C where a backslash is meant.")
    if "@" in authority:  # the message must not repeat a password
        raise _refused("holds a user name or password before an @", "Pass the address without them.")
    host, port = _host_and_port(authority)
    _check_host(host, allow_private=allow_private)
    return WebAddress(trimmed, _is_video(plain_host(host), port, path, match["query"] or ""))


def _scheme_problem(address: str) -> str:
    if not address:
        return "is empty"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):", address)
    if scheme is None:
        return "does not begin with http:// or https://"
    if scheme[1].lower() in {"http", "https"}:
        return f"has no // after {scheme[1]}:"
    return f"begins with {scheme[1]}:, which is not taken"


def _host_and_port(authority: str) -> tuple[str, int | None]:
    match = _HOST_AND_PORT.fullmatch(authority)
    if match is None or not match["host"]:
        raise _refused("has no host that can be read", "Pass a whole address such as https://example.com/page.")
    if not match["port"]:
        return match["host"], None
    if len(match["port"]) > 5 or not 0 < int(match["port"]) < 65536:
        raise _refused(f"has port {match['port'][:10]}, which does not exist", "Use a port from 1 to 65535, or none.")
    return match["host"], int(match["port"])


def _check_host(host: str, *, allow_private: bool) -> None:
    shown = host if len(host) <= 100 else f"{host[:99]}…"
    # Compatible forms are looked at too: a full-width percent sign or slash is one to every reader of such names.
    plain = plain_host(host)
    forbidden = _NOT_IN_HOSTS.search(host) or _NOT_IN_HOSTS.search(plain)
    if forbidden is None and not host.startswith("["):
        forbidden = re.search("[:\\[\\]]", plain)
    if forbidden:
        raise _refused(
            f"has {forbidden[0]!r} in its host", "Write the host in plain letters; its name may be international."
        )
    try:
        closed = maybe_closed(host)
    except BadHost as error:
        raise _refused(f"names host {shown!r}, but {error}", "Write the host as a name.") from error
    if closed is not None and not allow_private:
        raise _refused(
            f"names host {shown!r}, {closed}; such addresses are not added",
            "Use a public address. Only the person can allow private ones: `allow_private_urls = true` in config.toml.",
        )


def _is_video(host: str, port: int | None, path: str, query: str) -> bool:
    """Decide by parsed host and path: the same words elsewhere in an address mean nothing."""
    if port not in (None, 80, 443):
        return False
    if host == "youtu.be":
        return _is_video_id(path.removeprefix("/").removesuffix("/"))
    if host not in _YOUTUBE_HOSTS:
        return False
    if path in ("/watch", "/watch/"):
        return _is_video_id(parse_qs(query).get("v", [""])[0])
    in_path = _VIDEO_PATH.fullmatch(path)
    return in_path is not None and _is_video_id(in_path[1])


def _is_video_id(text: str) -> bool:
    return _VIDEO_ID.fullmatch(text) is not None and text not in _NO_VIDEO_IDS


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(problem: str, hint: str) -> InvalidArgument:
    return InvalidArgument(f"source.url {problem}.", hint=hint, started=False)
