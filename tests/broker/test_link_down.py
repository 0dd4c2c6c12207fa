import pytest

from broker.errors import CompanionOffline, GatewayError, InternalError, StreamSevered, VersionSkew
from broker.link_down import LinkDown, maybe_skew, socket_failed
from broker.relay_frames import ProtocolError, Welcome


@pytest.mark.parametrize(
    ("wire", "started", "is_stream", "error"),
    [
        (None, True, False, CompanionOffline),
        (None, False, False, CompanionOffline),
        (None, True, True, StreamSevered),
        (None, False, True, CompanionOffline),  # nothing of the question left, so no answer broke off
        (ProtocolError("VERSION_SKEW", "old"), True, True, VersionSkew),
        (ProtocolError("INVALID_ARGUMENT", "bad frame"), True, False, InternalError),
    ],
)
def test_what_the_end_of_a_connection_means_for_a_call(
    wire: ProtocolError | None, started: bool, is_stream: bool, error: type[GatewayError]
) -> None:
    reason = LinkDown("eof", wire).error(started=started, is_stream=is_stream)
    assert type(reason) is error
    assert reason.started is started


def welcome(v: int) -> Welcome:
    return Welcome(v=v, host_build="9.9", host_pid=1, extension=None, account=None)


def test_a_version_we_do_not_speak_is_skew_that_names_both_builds() -> None:
    assert maybe_skew(welcome(1)) is None
    for v in (0, 2):
        skew = maybe_skew(welcome(v))
        assert skew is not None
        assert "9.9" in skew.message
        assert "pip install" in skew.hint


def test_a_broken_socket_is_told_in_the_systems_words() -> None:
    assert "Broken pipe" in socket_failed(BrokenPipeError(32, "Broken pipe")).message
