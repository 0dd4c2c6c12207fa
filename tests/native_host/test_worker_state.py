import pytest

from native_host.worker_state import Extension, WorkerState


@pytest.mark.parametrize(
    ("v_min", "v_max", "is_common"), [(1, 1, True), (0, 1, True), (1, 9, True), (0, 0, False), (2, 3, False)]
)
def test_a_version_in_common_is_an_overlap(v_min: int, v_max: int, is_common: bool) -> None:
    extension = Extension(v_min, v_max, "b", "x", "p", None)
    assert extension.speaks_our_version is is_common


def test_a_worker_that_never_spoke_has_no_age() -> None:
    worker = WorkerState()
    assert worker.silence_ms(100.0) is None
    worker.last_seen_s = 98.5
    assert worker.silence_ms(100.0) == 1500
