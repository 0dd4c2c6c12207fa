"""What an upload is told to do and what can come of it: values between `broker.upload_steps` and its shell. Pure."""

from __future__ import annotations

from attrs import frozen

from broker.companion import UploadState
from broker.errors import GatewayError
from broker.notebooks import State as RowState

# -- commands --------------------------------------------------------------------------------------------------------


@frozen
class LookAtRow:
    """Read the source's row."""


@frozen
class Start:
    """Start a session, and make its handle durable."""


@frozen
class Query:
    """Ask the service what it has."""


@frozen
class SendSlice:
    """Hand ``[offset, offset + size_bytes)`` of the file to the page."""

    offset: int
    size_bytes: int


@frozen
class Finish:
    """Prove the file unchanged, make durable that a finalisation leaves, and send it."""


@frozen
class Done:
    """The service has the file."""


@frozen
class GiveUp:
    error: GatewayError
    cause: GatewayError | None = None


@frozen
class Pause:
    """Wait before `then`: with jitter that grows with the number of `failures`, and no less than `at_least_s`."""

    then: Command
    failures: int
    at_least_s: float = 0.0


Command = LookAtRow | Start | Query | SendSlice | Finish | Done | GiveUp | Pause


# -- events ----------------------------------------------------------------------------------------------------------


@frozen
class RowSeen:
    """The state of the source's row, None when the notebook has no such row."""

    state: RowState | None


@frozen
class Started:
    """A new session is there, and its handle is durable."""


@frozen
class Taken:
    """What the page says to a slice: the offset it wants next. None: it does not know where the upload stands."""

    next_offset: int | None
    received_bytes: int | None


@frozen
class Told:
    """What the service says of the session, to `Query` or to `Finish`."""

    status: UploadState
    received_bytes: int | None


@frozen
class FileUnusable:
    """The file is not any more what it was when it was opened, or cannot be read. Nothing was sent."""

    reason: str


@frozen
class Failed:
    """The command failed; `is_last` when the whole upload's time is over."""

    error: GatewayError
    is_last: bool = False


Event = RowSeen | Started | Taken | Told | FileUnusable | Failed
