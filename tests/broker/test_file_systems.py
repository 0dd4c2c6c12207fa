"""Which folders are on a network file system, by mount tables as the kernel writes them (C-027)."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.file_systems import NETWORK, maybe_network_file_system

ROOT = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw"


def table(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text("\n".join([ROOT, *lines]) + "\n")
    return path


def mount(point: Path | str, kind: str) -> str:
    return f"40 22 0:35 / {point} rw,nosuid,relatime shared:7 master:2 - {kind} server:/export rw,vers=4.2"


@pytest.mark.parametrize("kind", sorted(NETWORK))
def test_c027_a_folder_below_a_network_mount_is_named_by_its_kind(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "share" / "home"
    assert maybe_network_file_system(folder, table(tmp_path, mount(tmp_path / "share", kind))) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs"])
def test_a_local_mount_is_none(tmp_path: Path, kind: str) -> None:
    assert maybe_network_file_system(tmp_path, table(tmp_path, mount(tmp_path, kind))) is None


def test_the_innermost_mount_decides(tmp_path: Path) -> None:
    lines = [mount(tmp_path / "share", "nfs4"), mount(tmp_path / "share" / "local", "ext4")]
    for ordered in (lines, lines[::-1]):
        mount_table = table(tmp_path, *ordered)
        assert maybe_network_file_system(tmp_path / "share" / "local" / "home", mount_table) is None
        assert maybe_network_file_system(tmp_path / "share" / "other", mount_table) == "nfs4"


def test_what_is_mounted_over_a_mount_decides(tmp_path: Path) -> None:
    mount_table = table(tmp_path, mount(tmp_path, "nfs"), mount(tmp_path, "ext4"))
    assert maybe_network_file_system(tmp_path, mount_table) is None


def test_a_name_that_only_begins_alike_is_another_folder(tmp_path: Path) -> None:
    assert maybe_network_file_system(tmp_path / "sharead", table(tmp_path, mount(tmp_path / "share", "nfs"))) is None


def test_a_mount_point_with_a_blank_is_read_from_its_escaped_form(tmp_path: Path) -> None:
    escaped = f"{tmp_path}/my\\040share"
    assert maybe_network_file_system(tmp_path / "my share", table(tmp_path, mount(escaped, "cifs"))) == "cifs"


def test_a_link_is_followed_to_where_the_files_are(tmp_path: Path) -> None:
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "share")
    assert maybe_network_file_system(tmp_path / "link", table(tmp_path, mount(tmp_path / "share", "nfs"))) == "nfs"


def test_lines_that_are_no_mounts_are_passed_over(tmp_path: Path) -> None:
    mount_table = table(tmp_path, "", "nonsense", "40 22 0:35 /", "40 22 0:35 / /x rw no separator")
    assert maybe_network_file_system(tmp_path, mount_table) is None


def test_without_a_mount_table_the_answer_is_none(tmp_path: Path) -> None:
    assert maybe_network_file_system(tmp_path, tmp_path / "absent") is None


def test_the_real_table_is_read(tmp_path: Path) -> None:
    assert maybe_network_file_system(tmp_path) is None
