import os
import re
from pathlib import Path

import pytest

from native_host import host_log


@pytest.fixture
def log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "logs" / "native_host.log"
    monkeypatch.setattr(host_log, "STANDARD_ERROR", host_log.open_log(path))
    return path


def test_a_line_has_a_time_and_a_process(log_file: Path) -> None:
    host_log.log("started")
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ \[{os.getpid()}\] started\n", log_file.read_text())


def test_what_a_peer_sent_cannot_forge_a_second_line_or_steer_a_terminal(log_file: Path) -> None:
    host_log.log("bad \n2026-01-01 forged\r\x1b[2J\u2028\ud800 end")
    assert log_file.read_text().count("\n") == 1
    assert "\x1b" not in log_file.read_text()


def test_a_very_long_text_is_cut(log_file: Path) -> None:
    host_log.log("x" * 1_000_000)
    assert log_file.stat().st_size < 3000


def test_folder_and_file_are_closed_to_others(log_file: Path) -> None:
    assert log_file.stat().st_mode & 0o777 == 0o600
    assert log_file.parent.stat().st_mode & 0o777 == 0o700


def test_an_overlong_log_is_set_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "native_host.log"
    path.with_name("native_host.log.1").write_text("older")
    path.write_text("x" * (host_log.MAX_LOG_BYTES + 1))
    os.close(host_log.open_log(path))
    assert path.read_text() == ""
    assert len(path.with_name("native_host.log.1").read_text()) == host_log.MAX_LOG_BYTES + 1


def test_a_log_that_cannot_be_written_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(host_log, "STANDARD_ERROR", writer)
    host_log.log("lost")
    os.close(writer)
