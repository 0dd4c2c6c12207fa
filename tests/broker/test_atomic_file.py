import os
from pathlib import Path

import pytest

from broker.atomic_file import write_private_file


def test_the_file_is_replaced_and_private(tmp_path: Path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    write_private_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path):
    target = tmp_path / "target"
    target.write_text("theirs")
    (tmp_path / "file").symlink_to(target)
    write_private_file(tmp_path / "file", b"ours")
    assert target.read_text() == "theirs"
    assert not (tmp_path / "file").is_symlink()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    path.write_text("old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_private_file(path, b"new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
