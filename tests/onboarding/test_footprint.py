from __future__ import annotations

from pathlib import Path

import pytest

from onboarding.footprint import Footprint, UnreadableFootprint


def refuse(now: bytes) -> bytes | None:
    raise AssertionError("a file that is still ours needs nobody to cut it")


def tree(folder: Path) -> list[tuple[str, bytes, int]]:
    return sorted(
        (str(path), path.read_bytes() if path.is_file() else b"", path.stat().st_mode) for path in folder.rglob("*")
    )


def test_files_and_folders_are_as_before_in_whatever_order_they_are_taken_back(tmp_path: Path) -> None:
    """Two files in a folder that the first one needed: the folder goes with the last of them."""
    person = tmp_path / "person"
    person.mkdir()
    (person / "old").write_bytes(b"old\r\n")
    before = tree(person)
    footprint = Footprint(tmp_path / "home")
    for name in ("old", "a/b/one", "a/b/two", "a/three"):
        footprint.write(person / name, b"new", "test")
    for record in Footprint(tmp_path / "home").records:
        Footprint(tmp_path / "home").restore(record, refuse)
    assert tree(person) == before
    assert Footprint(tmp_path / "home").records == ()


def test_a_home_folder_that_it_makes_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    Footprint(tmp_path / "home").write(tmp_path / "old", b"new", "test")
    for folder in (tmp_path / "home", tmp_path / "home" / "backups"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_in_which_somebody_put_a_file_stays(tmp_path: Path) -> None:
    footprint = Footprint(tmp_path / "home")
    footprint.write(tmp_path / "a" / "ours", b"new", "test")
    (tmp_path / "a" / "theirs").write_bytes(b"x")
    footprint.restore(footprint.records[0], refuse)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["theirs"]


def test_a_file_that_was_changed_since_is_handed_to_who_knows_its_format(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    footprint = Footprint(tmp_path / "home")
    footprint.write(file, b"ours", "test")
    file.write_bytes(b"ours and theirs")
    restored = footprint.restore(footprint.records[0], lambda now: now.replace(b"ours and ", b""))
    assert (restored.how, file.read_bytes()) == ("cut out", b"theirs")


def test_writing_again_over_somebodys_change_never_goes_back_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    footprint = Footprint(tmp_path / "home")
    footprint.write(file, b"ours", "test")
    file.write_bytes(b"theirs")
    footprint.write(file, b"theirs+ours", "test")
    assert footprint.restore(footprint.records[0], lambda now: now.removesuffix(b"+ours")).how == "cut out"
    assert file.read_bytes() == b"theirs"


def test_a_file_that_is_gone_is_nothing_to_take_back(tmp_path: Path) -> None:
    footprint = Footprint(tmp_path / "home")
    footprint.write(tmp_path / "file", b"ours", "test")
    (tmp_path / "file").unlink()
    assert footprint.restore(footprint.records[0], refuse).how == "gone"


@pytest.mark.parametrize("text", [b"", b"[]", b'{"files": 3, "folders": []}'])
def test_records_that_cannot_be_read_are_never_taken_for_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "footprint.json").write_bytes(text)
    with pytest.raises(UnreadableFootprint, match=r"footprint\.json"):
        Footprint(tmp_path)


def test_backups_are_for_nobody_else_to_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"secret")
    Footprint(tmp_path / "home").write(tmp_path / "file", b"ours", "test")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "home" / "backups").iterdir()] == [0o600]
