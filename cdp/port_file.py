"""DevToolsActivePort: the file in which a browser with ``--remote-debugging-port=0`` says where it listens. Pure.

Two lines: the port, and the path of the browser endpoint, which ends in a GUID. Chrome does not write it in one step,
so a reader can see half of it (case C-093); the fixed length of the GUID tells half of it from the whole.
"""

from __future__ import annotations

import re
from typing import Final

FILE_NAME: Final = "DevToolsActivePort"
_GUID: Final = "-".join(f"[0-9A-Fa-f]{{{digits}}}" for digits in (8, 4, 4, 4, 12))
_WHOLE: Final = re.compile(rf"(?P<port>[0-9]{{1,5}})\n(?P<path>/devtools/browser/{_GUID})\n?")


def maybe_cdp_url(text: str) -> str | None:
    """Return ``ws://127.0.0.1:<port>/devtools/browser/<id>``, or None while the text is not the whole file."""
    match = _WHOLE.fullmatch(text)
    if match is None or not 0 < int(match["port"]) < 65536:
        return None
    return f"ws://127.0.0.1:{match['port']}{match['path']}"
