"""The digest of what was sent follows every way an upload can go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.sent_content import FileChanged, SentContent
from tests.broker.upload_helpers import MemoryFile, some_content

CONTENT = some_content(1000)


@given(offsets=st.lists(st.tuples(st.integers(0, 999), st.integers(1, 300)), max_size=10))
def test_slices_are_the_files_bytes_and_prove_the_whole_in_any_order(offsets: list[tuple[int, int]]):
    content = SentContent(MemoryFile(CONTENT))
    for offset, size_bytes in offsets:
        size_bytes = min(size_bytes, len(CONTENT) - offset)
        assert content.slice(offset, size_bytes) == CONTENT[offset : offset + size_bytes]
    content.check_whole()


def test_c084_a_slice_of_another_version_spoils_the_proof_even_when_the_file_is_put_back():
    file = MemoryFile(CONTENT)
    content = SentContent(file)
    content.slice(0, 500)
    file.content = b"y" * 1000
    content.slice(500, 100)
    file.content = CONTENT
    content.slice(600, 400)
    with pytest.raises(FileChanged, match="changed"):
        content.check_whole()


def test_c084_a_change_that_shows_in_its_time_is_found_with_the_slice_that_was_read_then():
    file = MemoryFile(CONTENT)
    content = SentContent(file)
    content.slice(0, 500)
    file.is_changed = True
    with pytest.raises(FileChanged):
        content.slice(500, 500)


def test_c084_a_shorter_file_is_found_where_it_ends():
    file = MemoryFile(CONTENT)
    content = SentContent(file)
    file.content = CONTENT[:600]
    content.slice(0, 500)
    with pytest.raises(FileChanged, match="shorter"):
        content.slice(500, 500)


def test_a_disk_that_fails_is_the_files_trouble():
    file = MemoryFile(CONTENT)

    def fail() -> bool:
        raise OSError(116, "Stale file handle")

    file.changed = fail
    with pytest.raises(FileChanged, match="Stale file handle"):
        SentContent(file).slice(0, 10)
