import os
import pwd
import socket
from pathlib import Path

import pytest

from native_host import paths


def home_with_socket_path_of(length_bytes: int, root: Path, letter: str, pid: int) -> Path:
    """Return a home below `root` whose natural socket path for `pid` is exactly `length_bytes` long."""
    fixed = len(os.fsencode(root / "x" / "run" / f"companion-{pid}.sock")) - 1
    missing = length_bytes - fixed
    width = len(letter.encode())
    return root / (letter * (missing // width) + "a" * (missing % width))


def test_home_is_in_the_password_database_and_not_in_the_environment() -> None:
    expected = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".notebook-gateway"
    assert paths.home_folder({}) == expected
    assert paths.home_folder({"HOME": "/elsewhere", "XDG_CONFIG_HOME": "/other"}) == expected
    assert paths.home_folder({"NOTEBOOK_GATEWAY_HOME": ""}) == expected


def test_the_variable_moves_the_home() -> None:
    assert paths.home_folder({"NOTEBOOK_GATEWAY_HOME": "/srv/gateway"}) == Path("/srv/gateway")


def test_a_relative_home_is_refused_because_it_would_depend_on_the_working_directory() -> None:
    with pytest.raises(ValueError, match=r"absolute path, not 'gateway'"):
        paths.home_folder({"NOTEBOOK_GATEWAY_HOME": "gateway"})


def test_a_user_without_password_entry_falls_back_to_home_or_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_entry(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(paths.pwd, "getpwuid", no_entry)
    assert paths.home_folder({"HOME": "/home/nobody"}) == Path("/home/nobody/.notebook-gateway")
    with pytest.raises(ValueError, match="set NOTEBOOK_GATEWAY_HOME"):
        paths.home_folder({})


@pytest.mark.parametrize("letter", ["a", "é"], ids=["ascii", "two-byte"])
@pytest.mark.parametrize(("length_bytes", "fits_linux"), [(103, True), (104, True), (107, True), (108, False)])
def test_c033_the_socket_path_is_natural_up_to_the_limit_and_short_beyond(
    length_bytes: int, fits_linux: bool, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with_socket_path_of(length_bytes, Path("/h"), letter, 4242)
    natural = home / "run" / "companion-4242.sock"
    assert len(os.fsencode(natural)) == length_bytes
    monkeypatch.setattr(paths, "MAX_SOCKET_PATH_BYTES", 107)
    assert (paths.companion_socket(home, 4242) == natural) is fits_linux
    monkeypatch.setattr(paths, "MAX_SOCKET_PATH_BYTES", 103)
    assert (paths.companion_socket(home, 4242) == natural) is (length_bytes <= 103)


def test_c033_the_short_path_differs_between_users_and_homes_and_always_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[Path] = set()
    for uid in (1000, 1001):
        monkeypatch.setattr(paths.os, "geteuid", lambda uid=uid: uid)
        for name in ("a" * 200, "b" * 200):
            path = paths.companion_socket(Path("/h") / name, 4_194_304)
            assert len(os.fsencode(path)) <= 103
            assert path.name == "companion-4194304.sock"
            seen.add(path)
    assert len(seen) == 4


def test_c033_broker_and_host_agree_on_the_short_path_through_a_link(tmp_path: Path) -> None:
    real = tmp_path / ("a" * 100)
    real.mkdir()
    link = tmp_path / ("b" * 100)
    link.symlink_to(real)
    assert paths.companion_socket(real, 1) == paths.companion_socket(link, 1)


def bind(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.fsencode(path))
    return listener


def test_a_broker_finds_sockets_in_both_folders_newest_first(tmp_path: Path) -> None:
    home = tmp_path
    paths.ensure_private_folder(paths.run_folder(home))
    fallback = paths.fallback_run_folder(home)
    paths.ensure_private_folder(fallback)
    old, new, short = (
        paths.run_folder(home) / "companion-1.sock",
        paths.run_folder(home) / "companion-2.sock",
        fallback / "companion-3.sock",
    )
    listeners = [bind(path) for path in (old, new, short)]
    try:
        for age, path in ((30, old), (10, new), (20, short)):
            os.utime(path, (1_000_000 - age, 1_000_000 - age))
        (paths.run_folder(home) / "companion-9.sock").write_text("a regular file")
        (paths.run_folder(home) / "companion-x.sock").write_text("")
        (paths.run_folder(home) / "browser.json").write_text("{}")
        assert paths.companion_sockets(home) == [new, short, old]
    finally:
        for listener in listeners:
            listener.close()
        short.unlink()
        fallback.rmdir()


def test_sockets_in_a_folder_that_others_can_write_are_passed_over(tmp_path: Path) -> None:
    run = paths.run_folder(tmp_path)
    paths.ensure_private_folder(run)
    listener = bind(run / "companion-1.sock")
    try:
        assert len(paths.companion_sockets(tmp_path)) == 1
        run.chmod(0o777)
        assert paths.companion_sockets(tmp_path) == []
    finally:
        listener.close()


def test_no_run_folder_means_no_companions(tmp_path: Path) -> None:
    assert paths.companion_sockets(tmp_path) == []


def test_a_private_folder_is_created_closed_and_an_open_one_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    paths.ensure_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    paths.ensure_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_link_or_file_in_place_of_a_private_folder_is_refused_and_left_alone(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    if kind == "file":
        folder.write_text("mine")
    else:
        (tmp_path / "real").mkdir()
        folder.symlink_to(tmp_path / "real")
    with pytest.raises(paths.UnsafePath, match="is not a folder"):
        paths.ensure_private_folder(folder)
    assert folder.is_symlink() == (kind == "link")


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    owner = folder.stat().st_uid
    monkeypatch.setattr(paths.os, "geteuid", lambda: owner + 1)
    assert not paths.is_private_folder(folder)
    with pytest.raises(paths.UnsafePath, match=f"belongs to user id {owner}"):
        paths.ensure_private_folder(folder)


@pytest.mark.parametrize(
    ("name", "pid"),
    [
        ("companion-12.sock", 12),
        ("companion-.sock", None),
        ("companion-1-2.sock", None),
        ("companion-12.sock.old", None),
        ("companion-²3.sock", None),
        ("12", None),
    ],
)
def test_only_names_of_companion_sockets_hold_a_process_id(name: str, pid: int | None) -> None:
    assert paths.companion_pid(name) == pid


def test_everything_lives_under_the_home() -> None:
    home = Path("/h")
    found = {
        paths.config_file(home),
        paths.allowlist_file(home),
        paths.host_log_file(home),
        paths.launcher_file(home),
        paths.browser_file(home),
    }
    assert found == {
        home / "config.toml",
        home / "allowlist.json",
        home / "logs" / "native_host.log",
        home / "native-host",
        home / "run" / "browser.json",
    }
