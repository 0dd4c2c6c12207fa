import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker import log_file
from broker.log_file import LOG_NAME, ScreenHandler, set_up_logging


@pytest.fixture(autouse=True)
def root_logger_is_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raises


def test_records_go_to_a_private_file_and_only_warnings_to_the_screen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    set_up_logging(tmp_path / "logs")
    logging.getLogger("broker.x").info("quiet", extra={"traceparent": "00-a"})
    logging.getLogger("broker.x").warning("loud SID=abcdefgh")
    path = tmp_path / "logs" / LOG_NAME
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["message"] for line in lines] == ["quiet", "loud SID=[removed]"]
    assert lines[0]["traceparent"] == "00-a"
    assert path.stat().st_mode & 0o777 == 0o600
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == "notebook-gateway: warning: loud SID=[removed]\n"


def test_a_home_folder_that_the_log_makes_is_closed_to_others(tmp_path: Path):
    set_up_logging(tmp_path / "home" / "logs")
    for folder in (tmp_path / "home", tmp_path / "home" / "logs"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_log_that_has_grown_too_large_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_file, "MAX_LOG_BYTES", 10)
    (tmp_path / LOG_NAME).write_text("x" * 100)
    set_up_logging(tmp_path)
    assert (tmp_path / f"{LOG_NAME}.1").read_text() == "x" * 100
    assert (tmp_path / LOG_NAME).read_text() == ""


def test_a_folder_that_cannot_be_made_is_no_obstacle(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "logs").write_text("a file in its place")
    set_up_logging(tmp_path / "logs")
    assert "no log file" in capfd.readouterr().err


def test_text_that_is_not_unicode_is_written_escaped(tmp_path: Path):
    set_up_logging(tmp_path)
    logging.getLogger("broker").info("half a pair: \ud800")
    assert json.loads((tmp_path / LOG_NAME).read_text())["message"].startswith("half a pair: ")


def test_c034_a_standard_error_that_nobody_reads_holds_nobody_up():
    read_fd, write_fd = os.pipe()
    handler = ScreenHandler(write_fd)
    record = logging.LogRecord("x", logging.WARNING, __file__, 1, "y" * 1000, (), None)
    for _ in range(500):
        handler.emit(record)
    assert os.get_blocking(write_fd)
    assert os.read(read_fd, 2000).startswith(b"notebook-gateway: warning: yyy")
    os.close(read_fd)
    handler.emit(record)
    os.close(write_fd)
