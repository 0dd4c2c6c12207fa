"""Why a connection ended, and what that means for the calls that were open on it. Pure."""

from __future__ import annotations

from attrs import frozen

from broker.errors import CompanionOffline, GatewayError, StreamSevered, VersionSkew
from broker.relay_frames import ProtocolError, Welcome
from broker.wire_errors import error_of_connection
from native_host.build import BUILD
from native_host.protocol import V_MAX, V_MIN


@frozen
class LinkDown:
    """The reason, in words for people, and the host's own `error` frame if it sent one."""

    message: str
    wire: ProtocolError | None = None

    def error(self, *, started: bool, is_stream: bool = False) -> GatewayError:
        """Return the error for one call. `started` False is proof that its frame never left.

        An answer stream that may have begun is severed; any other call may have taken effect, and its caller decides
        what that means (a read is simply asked again, a write is unknown).
        """
        if self.wire is not None:
            return error_of_connection(self.wire, started=started)
        if is_stream and started:
            return StreamSevered(f"The answer stream broke off: {self.message}.")
        return CompanionOffline(f"Lost the browser: {self.message}.", started=started)


def maybe_skew(welcome: Welcome) -> VersionSkew | None:
    """Return an error when the host chose a version that this build does not speak."""
    if V_MIN <= welcome.v <= V_MAX:
        return None
    return VersionSkew(
        f"The native host (build {welcome.host_build}) speaks version {welcome.v} of the relay protocol, "
        f"this broker (build {BUILD}) speaks {V_MIN} to {V_MAX}.",
        started=False,
    )


def socket_failed(error: OSError) -> LinkDown:
    return LinkDown(f"the native host's socket failed ({error.strerror})")
