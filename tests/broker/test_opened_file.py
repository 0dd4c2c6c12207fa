"""C-084: the opened descriptor is what is uploaded, and a change of it shows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.opened_file import PIECE_BYTES, ContentChanged, OpenedFile

CONTENT = b"0123456789" * 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.txt"
    path.write_bytes(CONTENT)
    return path


@contextmanager
def opened(path: Path) -> Iterator[OpenedFile]:
    descriptor = os.open(path, os.O_RDONLY)
    file = OpenedFile(descriptor, path.name, os.fstat(descriptor))
    try:
        yield file
    finally:
        file.close()


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_facts_and_pieces_are_those_of_the_file(path: Path) -> None:
    with opened(path) as file:
        assert (file.name, file.size_bytes) == ("x.txt", len(CONTENT))
        assert file.sha256 == hashlib.sha256(CONTENT).hexdigest()
        assert file.read_at(7, 5) == CONTENT[7:12]
        assert file.read_at(len(CONTENT) - 3, 100) == CONTENT[-3:]
        assert file.read_at(len(CONTENT), 1) == b""
        assert not file.changed()
        assert repr(file) == "<OpenedFile 10000 bytes, open>"


def test_a_file_of_several_pieces_is_digested_whole(tmp_path: Path) -> None:
    data = os.urandom(2 * PIECE_BYTES + 17)
    (tmp_path / "big").write_bytes(data)
    with opened(tmp_path / "big") as file:
        assert file.sha256 == hashlib.sha256(data).hexdigest()


@given(offset=st.integers(0, 12_000), size=st.integers(0, 12_000))
def test_any_piece_is_that_slice_of_the_content(
    tmp_path_factory: pytest.TempPathFactory, offset: int, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "slices.txt"
    path.write_bytes(CONTENT)
    with opened(path) as file:
        assert file.read_at(offset, size) == CONTENT[offset : offset + size]


def test_c084_a_replaced_or_deleted_file_is_read_whole_and_has_not_changed(path: Path, tmp_path: Path) -> None:
    with opened(path) as file:
        other = tmp_path / "other"
        other.write_bytes(b"new")
        other.rename(path)
        assert not file.changed()
        path.unlink()
        assert not file.changed()
        assert file.read_at(0, len(CONTENT)) == CONTENT


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def truncate(path: Path) -> None:
    os.truncate(path, 10)


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"X")
    os.utime(path, ns=(1, 1))  # the clock of some file systems is coarse; another time than before is what counts


@pytest.mark.parametrize("change", [append, truncate, rewrite])
def test_c084_a_changed_file_says_so(path: Path, change: Callable[[Path], None]) -> None:
    with opened(path) as file:
        change(path)
        assert file.changed()


def test_a_file_that_is_not_what_was_checked_is_refused_and_closed(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    status = os.fstat(descriptor)
    append(path)
    with pytest.raises(ContentChanged):
        OpenedFile(descriptor, "x", status)
    assert not is_open(descriptor)


def test_a_descriptor_that_cannot_be_read_is_closed(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "write-only", os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, b"x")
    with pytest.raises(OSError):
        OpenedFile(descriptor, "x", os.fstat(descriptor))
    assert not is_open(descriptor)


def test_after_closing_nothing_is_read_from_whoever_has_the_number_now(path: Path) -> None:
    with opened(path) as file:
        file.close()
        file.close()
        with path.open("rb"):
            with pytest.raises(ValueError, match="closed"):
                file.read_at(0, 1)
            with pytest.raises(ValueError, match="closed"):
                file.changed()
        assert repr(file) == "<OpenedFile 10000 bytes, closed>"
