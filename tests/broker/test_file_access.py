"""Which files may leave the machine: real files, links, pipes and devices."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import file_access
from broker.config import Config
from broker.errors import GatewayError, InvalidArgument, NotFound
from broker.file_access import OpenedFile, allowed_roots, open_file
from broker.project_file import ProjectFolder
from tests.shared import case_input

SECRET = b"TOP SECRET"
MAX_BYTES = 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "plan.md").write_text("# Plan")
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(SECRET)
    return outside


@pytest.fixture
def own_home(tmp_path: Path) -> Path:
    home = tmp_path / "gateway-home"
    home.mkdir()
    (home / "config.toml").write_text("account = 'ada@example.com'")
    return home


def opened(path: object, *roots: Path, own_home: Path | None = None, max_bytes: int = MAX_BYTES) -> OpenedFile:
    return open_file(str(path), roots=roots, max_bytes=max_bytes, own_home=own_home)


def content(path: object, *roots: Path) -> bytes:
    file = opened(path, *roots)
    try:
        return file.read_at(0, MAX_BYTES)
    finally:
        file.close()


def refusal(path: object, *roots: Path, own_home: Path | None = None, max_bytes: int = MAX_BYTES) -> GatewayError:
    before = open_descriptors()
    with pytest.raises((InvalidArgument, NotFound), match=r"^source\.file_path: ") as caught:
        opened(path, *roots, own_home=own_home, max_bytes=max_bytes)
    assert open_descriptors() == before
    assert caught.value.started is False
    assert caught.value.hint
    return caught.value


def open_descriptors() -> Sequence[str]:
    return sorted(os.listdir("/dev/fd"))[:-1]


# ---------------------------------------------------------------------------------------------------- what may leave
def test_a_file_under_a_root_is_opened_with_its_facts(root: Path) -> None:
    file = opened(root / "docs/plan.md", root)
    try:
        assert (file.name, file.size_bytes) == ("plan.md", 6)
        assert file.sha256 == hashlib.sha256(b"# Plan").hexdigest()
        assert file.read_at(2, 4) == b"Plan"
    finally:
        file.close()


def test_the_descriptor_is_not_handed_to_child_processes(root: Path) -> None:
    before = set(open_descriptors())
    file = opened(root / "docs/plan.md", root)
    try:
        for descriptor in set(open_descriptors()) - before:
            assert not os.get_inheritable(int(descriptor))
    finally:
        file.close()


@pytest.mark.parametrize("detour", ["docs/../docs/plan.md", "./docs//plan.md", "../project/docs/plan.md"])
def test_detours_that_end_under_the_root_are_taken(root: Path, detour: str) -> None:
    assert content(f"{root}/{detour}", root) == b"# Plan"
    assert content(f"//{str(root).lstrip('/')}/{detour}", root) == b"# Plan"


def test_any_of_several_roots_will_do_and_a_missing_one_does_not_matter(root: Path, outside: Path) -> None:
    assert content(root / "docs/plan.md", outside, root / "gone", root) == b"# Plan"


def test_links_that_stay_under_the_root_are_followed(root: Path) -> None:
    (root / "link.md").symlink_to("docs/plan.md")
    (root / "linked").symlink_to(root / "docs")
    assert content(root / "link.md", root) == b"# Plan"
    assert content(root / "linked" / "plan.md", root) == b"# Plan"


def test_a_root_that_is_a_link_is_the_folder_it_leads_to(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert content(tmp_path / "alias/docs/plan.md", tmp_path / "alias") == b"# Plan"
    assert content(root / "docs/plan.md", tmp_path / "alias") == b"# Plan"


def test_a_link_into_a_root_is_named_as_it_was_given(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").symlink_to(root / "docs/plan.md")
    file = opened(tmp_path / "elsewhere.md", root)
    file.close()
    assert file.name == "elsewhere.md"


def test_c085_files_with_the_names_of_the_field_keep_their_exact_name(root: Path) -> None:
    names: list[str] = json.loads(case_input("C-085-names.json").read_text(encoding="utf-8"))
    for name in names:
        (root / name).write_text(name)
        file = opened(root / name, root)
        try:
            assert file.name == name
            assert file.read_at(0, MAX_BYTES).decode() == name
        finally:
            file.close()


# ---------------------------------------------------------------------------------------------------- where it leads
def test_a_file_outside_of_the_roots_is_refused_and_the_roots_are_named(root: Path, outside: Path) -> None:
    error = refusal(outside / "secret.md", root)
    assert str(root) in error.message
    assert "file_roots" in error.hint


def test_a_folder_whose_name_begins_like_a_root_is_outside(root: Path) -> None:
    beside = root.with_name("project-2")
    beside.mkdir()
    (beside / "x.md").write_bytes(SECRET)
    assert "in none of the folders" in refusal(beside / "x.md", root).message


def test_links_out_of_the_root_are_refused_and_their_target_is_not_told(root: Path, outside: Path) -> None:
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "folder").symlink_to(outside)
    (root / "chain.md").symlink_to("file.md")
    (root / "relative.md").symlink_to("../outside/secret.md")
    for name in ("file.md", "folder/secret.md", "chain.md", "relative.md", "docs/../../outside/secret.md"):
        error = refusal(root / name, root)
        assert "in none of the folders" in error.message
        if ".." not in name:
            assert "outside" not in error.message


def test_outside_of_the_roots_nothing_tells_whether_there_is_a_file(root: Path, outside: Path) -> None:
    there = refusal(outside / "secret.md", root)
    gone = refusal(outside / "absent.md", root)
    assert gone.message == there.message.replace("secret.md", "absent.md")
    (root / "dangling.md").symlink_to(outside / "absent.md")
    assert "in none of the folders" in refusal(root / "dangling.md", root).message


def test_a_missing_file_under_a_root_is_not_found(root: Path) -> None:
    assert isinstance(refusal(root / "docs/absent.md", root), NotFound)
    assert isinstance(refusal(root / "absent/absent.md", root), NotFound)
    (root / "dangling.md").symlink_to("nowhere.md")
    assert isinstance(refusal(root / "dangling.md", root), NotFound)


def test_a_loop_of_links_and_a_file_as_folder_are_refused(root: Path) -> None:
    (root / "a.md").symlink_to("b.md")
    (root / "b.md").symlink_to("a.md")
    assert "link" in refusal(root / "a.md", root).message
    assert "no folder" in refusal(root / "docs/plan.md/x.md", root).message


@pytest.mark.parametrize("replaced", ["file", "folder"])
def test_a_link_put_in_place_between_check_and_open_is_an_error(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, replaced: str
) -> None:
    (root / "docs/secret.md").write_text("harmless")
    judge = file_access.maybe_secret_place

    def swap_after_the_check(path: PurePosixPath, under: PurePosixPath) -> str | None:
        verdict = judge(path, under)
        if replaced == "file":
            (root / "docs/secret.md").unlink()
            (root / "docs/secret.md").symlink_to(outside / "secret.md")
        else:
            (root / "docs").rename(root / "moved")
            (root / "docs").symlink_to(outside)
        return verdict

    monkeypatch.setattr(file_access, "maybe_secret_place", swap_after_the_check)
    assert "replaced by a link" in refusal(root / "docs/secret.md", root).message


def test_swapping_a_folder_for_a_link_all_the_time_never_lets_the_secret_out(root: Path, outside: Path) -> None:
    """The race itself: whatever is opened is the harmless file."""
    inner = root / "inner"
    inner.mkdir()
    (inner / "secret.md").write_text("harmless")
    (root / "link").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for one, other in (("inner", "kept"), ("link", "inner"), ("inner", "link"), ("kept", "inner")):
                (root / one).rename(root / other)

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes: set[bytes | str] = set()
    try:
        for _ in range(2000):
            try:
                outcomes.add(content(inner / "secret.md", root))
            except GatewayError as error:
                outcomes.add(str(error.code))
    finally:
        done.set()
        thread.join()
    assert b"harmless" in outcomes
    assert outcomes <= {b"harmless", "INVALID_ARGUMENT", "NOT_FOUND"}


# ---------------------------------------------------------------------------------------------------- what it is
def test_folders_pipes_sockets_and_devices_are_refused_without_waiting(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe.md")
    monkeypatch.chdir(root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        assert "a socket" in refusal(root / "socket.md", root).message
    assert "a pipe" in refusal(root / "pipe.md", root).message
    assert "a folder" in refusal(root / "docs", root).message
    assert "a folder open for uploads" in refusal(root, root).message
    assert "a device" in refusal("/dev/null", Path("/dev")).message
    (root / "zero.md").symlink_to("/dev/zero")
    assert "in none of the folders" in refusal(root / "zero.md", root).message


def test_a_pipe_put_in_place_between_check_and_open_does_not_block(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "docs/plan.md"
    require_regular = file_access._require_regular  # pyright: ignore[reportPrivateUsage]  # the last step before opening
    calls: list[str] = []

    def swap_after_the_check(status: os.stat_result, shown: str) -> None:
        require_regular(status, shown)
        calls.append("swapped")
        path.unlink()
        os.mkfifo(path)

    monkeypatch.setattr(file_access, "_require_regular", swap_after_the_check)
    assert "a pipe" in refusal(path, root).message
    assert calls == ["swapped"]


def test_size_limits_hold_at_their_exact_values(root: Path) -> None:
    path = root / "x.txt"
    path.write_bytes(b"")
    assert "is empty" in refusal(path, root).message
    path.write_bytes(b"x" * MAX_BYTES)
    assert len(content(path, root)) == MAX_BYTES
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    error = refusal(path, root)
    assert "has 1001 bytes; at most 1000" in error.message
    assert "max_file_bytes" in error.hint


def test_a_huge_sparse_file_is_refused_by_its_size_before_it_is_read(root: Path) -> None:
    with (root / "huge.txt").open("wb") as file:
        file.truncate(2**40)
    assert "1099511627776 bytes" in refusal(root / "huge.txt", root, max_bytes=200 * 1024 * 1024).message


def test_an_unreadable_file_and_an_untraversable_folder_are_refused() -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's own folder is closed to the other user
    try:
        folder.chmod(0o755)
        closed, inner = folder / "closed.md", folder / "inner"
        closed.write_bytes(SECRET)
        inner.mkdir()
        (inner / "x.md").write_bytes(SECRET)
        closed.chmod(0)
        inner.chmod(0)
        with as_ordinary_user():
            for path in (closed, inner / "x.md"):
                assert "permission denied" in refusal(path, folder, own_home=folder / "absent").message
            assert "gateway's own" in refusal(closed, folder, own_home=inner / "home").message
    finally:
        inner.chmod(0o700)
        for path in (inner / "x.md", closed):
            path.unlink()
        inner.rmdir()
        folder.rmdir()


class as_ordinary_user:  # noqa: N801  # reads like the context it is
    """Root may read everything, so it becomes somebody else for a moment."""

    def __enter__(self) -> None:
        self._was = os.geteuid()
        if self._was == 0:
            os.seteuid(65534)

    def __exit__(self, *exc: object) -> None:
        if self._was == 0:
            os.seteuid(0)


def test_a_folder_that_may_only_be_passed_through_is_passed_through() -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        (folder / "x.md").write_text("fine")
        (folder / "x.md").chmod(0o644)
        folder.chmod(0o711)
        with as_ordinary_user():
            opened(folder / "x.md", folder, own_home=folder / "absent").close()
    finally:
        (folder / "x.md").unlink()
        folder.rmdir()


# ---------------------------------------------------------------------------------------------------- how it is written
@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("", "not an absolute path"),
        ("docs/plan.md", "not an absolute path"),
        ("./plan.md", "not an absolute path"),
        ("~/plan.md", "not an absolute path"),
        ("~ada/plan.md", "not an absolute path"),
        ("file:///etc/passwd", "not an absolute path"),
        ("C:\\plan.md", "not an absolute path"),
        ("/tmp/x\0.md", "NUL"),
        ("/tmp/\ud800.md", "not text"),
        ("/" + "a" * 300, "in none of the folders"),
    ],
)
def test_paths_that_are_none_are_refused(root: Path, path: str, named: str) -> None:
    error = refusal(path, root)
    assert named in error.message
    json.dumps(error.as_error()).encode()
    error.message.encode()


def test_what_to_write_instead_is_said(root: Path) -> None:
    assert "~ is not expanded" in refusal("~/x.md", root).hint
    assert "file://" in refusal("file:///x.md", root).hint


def test_a_name_longer_than_the_system_takes_is_refused(root: Path) -> None:
    assert "cannot be read" in refusal(root / ("a" * 300), root).message
    assert len(refusal(f"{root}/{'a/' * 3000}x", root).message) < 1000


# ---------------------------------------------------------------------------------------------------- secrets
@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".ssh/id_rsa",
        ".ssh/config",
        ".aws/credentials",
        ".git/config",
        "docs/.hidden.md",
        "server.pem",
        "a/id_rsa",
    ],
)
def test_secrets_under_a_root_are_refused(root: Path, name: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(SECRET)
    error = refusal(path, root)
    assert "never uploaded" in error.message
    assert "person" in error.hint
    (root / "innocent.md").symlink_to(path)
    assert "never uploaded" in refusal(root / "innocent.md", root).message


def test_a_secret_name_that_links_to_an_ordinary_file_is_refused_too(root: Path) -> None:
    (root / "server.pem").symlink_to("docs/plan.md")
    assert "never uploaded" in refusal(root / "server.pem", root).message


def test_a_private_key_is_refused_under_any_name_also_as_a_hard_link(root: Path, outside: Path) -> None:
    (outside / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n")
    (root / "notes.md").hardlink_to(outside / "id_rsa")
    assert "private key" in refusal(root / "notes.md", root).message


def test_nothing_of_our_own_home_folder_leaves(root: Path, own_home: Path, tmp_path: Path) -> None:
    (own_home / "logs").mkdir()
    (own_home / "logs/x.md").write_bytes(SECRET)
    (tmp_path / "alias").symlink_to(own_home)
    for path in (own_home / "config.toml", own_home / "logs/x.md", tmp_path / "alias/config.toml"):
        for roots in ((tmp_path,), (own_home,), (tmp_path / "alias",)):
            assert "gateway itself" in refusal(path, *roots, own_home=own_home).message
    assert "gateway itself" in refusal(own_home / "config.toml", tmp_path, own_home=tmp_path / "alias").message


def test_our_own_home_folder_is_the_default_one(root: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTEBOOK_GATEWAY_HOME", str(own_home))
    assert "gateway itself" in refusal(own_home / "config.toml", own_home).message


def test_a_missing_home_folder_of_ours_does_not_matter(root: Path, tmp_path: Path) -> None:
    opened(root / "docs/plan.md", root, own_home=tmp_path / "absent").close()


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/maps", "/proc/self/cmdline", "/proc/version"])
def test_process_facts_are_refused_even_under_a_root(root: Path, path: str) -> None:
    assert "belongs to the system" in refusal(path, Path("/proc"), Path(path).parent).message
    (root / "x.md").symlink_to(path)
    assert "in none of the folders" in refusal(root / "x.md", root).message


def test_detours_through_proc_lead_where_they_lead(root: Path, outside: Path) -> None:
    secret = os.open(outside / "secret.md", os.O_RDONLY)
    try:
        assert "in none of the folders" in refusal(f"/proc/self/fd/{secret}", root).message
        assert "in none of the folders" in refusal(f"/proc/self/root{outside}/secret.md", root).message
    finally:
        os.close(secret)
    assert content(f"/proc/self/root{root}/docs/plan.md", root) == b"# Plan"


def test_a_file_that_is_written_to_while_it_is_read_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "docs/plan.md"
    look = file_access.maybe_secret_content

    def append_after_the_check(first_bytes: bytes) -> str | None:
        with path.open("ab") as file:
            file.write(b"more")
        return look(first_bytes)

    monkeypatch.setattr(file_access, "maybe_secret_content", append_after_the_check)
    assert "written to while it was read" in refusal(path, root).message


@given(
    parts=st.lists(st.sampled_from(["..", ".", "docs", "deep", "out", "up", "plan.md", "secret.md", ""]), max_size=7),
)
def test_whatever_path_is_given_only_files_under_the_root_come_out(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    """A naive model beside: the content says where a file lies."""
    base = tmp_path_factory.getbasetemp() / "paths"
    root = base / "root"
    if not base.exists():
        (root / "docs/deep").mkdir(parents=True)
        for folder in (root, root / "docs", root / "docs/deep"):
            (folder / "plan.md").write_text("inside")
        (base / "secret.md").write_bytes(SECRET)
        (base / "plan.md").write_bytes(SECRET)
        (root / "out").symlink_to(base)
        (root / "docs/up").symlink_to("..")
        (root / "docs/secret.md").symlink_to("../../secret.md")
    path = f"{root}/{'/'.join(parts)}"
    try:
        assert content(path, root) == b"inside"
    except GatewayError:
        real = Path(path)
        try:
            is_inside_file = stat.S_ISREG(real.stat().st_mode) and real.resolve().is_relative_to(root)
        except OSError:
            is_inside_file = False
        assert not is_inside_file


# ---------------------------------------------------------------------------------------------------- roots
@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home" / "ada"
    home.mkdir(parents=True)
    return home


def test_the_project_folder_and_the_configured_roots_are_the_roots(root: Path, home: Path) -> None:
    (root / "pyproject.toml").touch()
    config = Config("a@b", file_roots=(Path("/srv/papers"),))
    assert allowed_roots(ProjectFolder(root, home), config) == (root, Path("/srv/papers"))


def test_a_named_project_folder_needs_no_marker(root: Path, home: Path) -> None:
    assert allowed_roots(ProjectFolder(root, home, is_named=True), Config("a@b")) == (root,)


@pytest.mark.parametrize("is_named", [False, True])
def test_the_home_folder_and_what_holds_it_never_become_a_root_by_themselves(
    tmp_path: Path, home: Path, is_named: bool
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(home)
    for folder in (home, home.parent, alias):
        (folder / "package.json").touch()
    config = Config("a@b", file_roots=(Path("/srv/papers"),))
    for folder in (home, home.parent, alias, Path("/")):
        assert allowed_roots(ProjectFolder(folder, home, is_named=is_named), config) == config.file_roots


def test_a_project_below_the_home_folder_is_a_root(home: Path) -> None:
    (home / "work/.git").mkdir(parents=True)
    assert allowed_roots(ProjectFolder(home / "work", home), Config("a@b")) == (home / "work",)


def test_without_any_root_it_is_said_how_the_person_adds_one(root: Path, home: Path) -> None:
    with pytest.raises(InvalidArgument, match="no folder is open for uploads") as caught:
        allowed_roots(ProjectFolder(root, home), Config("a@b"))
    assert "no project marker" in caught.value.message
    assert "file_roots = [" in caught.value.hint
    assert "config.toml" in caught.value.hint
    assert caught.value.started is False
