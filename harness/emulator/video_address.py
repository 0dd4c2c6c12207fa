"""Which video a web address names: the forms in which people pass them on. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

_SHORT_HOST: Final = "youtu.be"
_HOSTS: Final = frozenset(("youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com"))
_PATHS: Final = re.compile(r"/(?:shorts|live|embed|v)/([\w-]+)")


def video_id(url: str) -> str | None:
    """Return the id of the video, or None when the address is not that of a video."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if host == _SHORT_HOST:
        return parts.path.strip("/").partition("/")[0] or None
    if host not in _HOSTS:
        return None
    if named := parse_qs(parts.query).get("v"):
        return named[0]
    found = _PATHS.match(parts.path)
    return None if found is None else found[1]
