import json

from native_host import answers
from native_host.protocol import HOST_TO_BROKER, HOST_TO_WORKER, MESSAGES
from native_host.worker_state import Extension

EXTENSION = Extension(v_min=1, v_max=1, build="0.1.0", extension_id="x", profile="p", account=None)


def test_every_frame_that_the_host_writes_has_the_fields_of_the_table() -> None:
    frames = [
        answers.welcome(1, 77, None),
        answers.welcome(1, 77, EXTENSION),
        answers.failed_result(7, "RATE_LIMITED", "busy", started=False),
        answers.protocol_error("INVALID_ARGUMENT", "no"),
        answers.protocol_error("VERSION_SKEW", "no", conn=0),
    ]
    for frame in map(json.loads, frames):
        kind = frame.pop("type")
        is_for_worker = frame.pop("conn", None) is not None
        assert kind in (HOST_TO_WORKER if is_for_worker else HOST_TO_BROKER)
        required, optional = MESSAGES[kind]
        assert set(required) <= set(frame) <= {*required, *optional}


def test_an_older_extension_is_reloaded_and_a_newer_one_wants_a_newer_host() -> None:
    assert "reload the extension at chrome://extensions" in answers.extension_skew(EXTENSION._replace(v_min=0, v_max=0))
    assert "restart Chrome" in answers.extension_skew(EXTENSION._replace(v_min=2, v_max=2))
