import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from native_host import host_log


@pytest.fixture
def log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "logs" / "native_host.log"
    monkeypatch.setattr(host_log, "STANDARD_ERROR", host_log.open_log(path))
    return path


def lines(log_file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log_file.read_text().splitlines()]


def test_a_line_is_one_json_object_with_a_time_and_a_process(log_file: Path) -> None:
    host_log.log("started")
    host_log.log("rpc ended", traceparent="00-1", took_ms=1.5)
    first, second = lines(log_file)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(first["at"]))
    assert (first["pid"], first["message"]) == (os.getpid(), "started")
    assert (second["traceparent"], second["took_ms"]) == ("00-1", 1.5)


def test_what_a_peer_sent_cannot_forge_a_second_line_or_steer_a_terminal(log_file: Path) -> None:
    text = "bad \n2026-01-01 forged\r\x1b[2J\u2028\ud800 end"
    host_log.log(text)
    assert log_file.read_text().count("\n") == 1
    assert "\x1b" not in log_file.read_text()
    assert lines(log_file)[0]["message"] == text


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


def test_a_log_that_grows_too_long_while_the_host_runs_is_set_aside(log_file: Path) -> None:
    """In a process of its own, whose descriptors 1 and 2 are the log, as in the host."""
    code = f"""
from pathlib import Path
from native_host import host_log
path = Path({str(log_file)!r})
host_log.log("before")
host_log.keep_short(path)
host_log.log("x" * 1999)
host_log.MAX_LOG_BYTES = 2000
host_log.keep_short(path)
host_log.log("after")
print("and descriptor 1", flush=True)
"""
    with log_file.open("ab") as log:
        subprocess.run([sys.executable, "-P", "-c", code], stdout=log, stderr=log, check=True)
    assert [line["message"] for line in lines(log_file.with_name(f"{log_file.name}.1"))] == ["before", "x" * 1999]
    text = log_file.read_text()
    assert '"after"' in text
    assert "and descriptor 1" in text


def test_a_log_that_cannot_be_written_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(host_log, "STANDARD_ERROR", writer)
    host_log.log("lost")
    os.close(writer)
