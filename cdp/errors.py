"""What can go wrong between us and a browser: one taxonomy for the whole package.

Who is at fault decides the class: the browser refused a command (`CallFailed`), the page threw (`EvaluationFailed`),
the peer broke the protocol (`BadMessage`), the connection or session ended (`ConnectionLost`, `SessionDetached`), a
reader was too slow (`EventsLost`), or the browser is missing or did not start (`BrowserNotFound`, `LaunchFailed`).
Foreign errors (trio, trio-websocket, OSError) never leave this package.
"""

from __future__ import annotations

from collections.abc import Sequence


class CdpError(Exception):
    """Base of everything this package raises."""


class ConnectFailed(CdpError):
    """No connection could be opened: nothing listens, the upgrade was refused, or it took too long."""


class ConnectionLost(CdpError):
    """The connection ended while a call or an event reader needed it. The message is the reason."""


class BadMessage(CdpError):
    """The peer sent something that is no CDP message; the connection cannot be trusted after it."""


class CallFailed(CdpError):
    """The browser answered a command with an error object."""

    def __init__(self, method: str, code: int, message: str, data: str | None = None) -> None:
        super().__init__(f"{method}: {message} ({code})" + (f": {data}" if data else ""))
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class SessionDetached(CdpError):
    """The target of this session closed or let go of it; Chrome never answers the commands that were open in it."""


class EvaluationFailed(CdpError):
    """Script that was evaluated in a target threw, or its promise was rejected. The message is its text."""


class EventsLost(CdpError):
    """A reader of events fell behind by more than its capacity; it gets what was kept, then this, and nothing more."""


class BrowserNotFound(CdpError):
    """No browser of the Chromium family was found. `looked_for` lists every place that was tried."""

    def __init__(self, message: str, looked_for: Sequence[str]) -> None:
        super().__init__(message)
        self.looked_for = tuple(looked_for)


class LaunchFailed(CdpError):
    """The browser ended, or opened no debugging port in time. The message holds the end of what it printed."""
