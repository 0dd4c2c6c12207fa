"""The managed profile is never the one of an everyday browser, by whatever way it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdp.finder import Browser
from onboarding.managed_browser import prepare_profile
from onboarding.profile_folders import FAMILIES, default_profile_folder, is_default_profile, maybe_family


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_c090_each_browsers_own_folder_is_known_and_what_lies_in_it_or_holds_it(
    family, platform: str, tmp_path: Path
) -> None:
    theirs = default_profile_folder(family, tmp_path, {}, platform)
    for folder in (theirs, theirs / "Default", theirs.parent):
        assert is_default_profile(folder, tmp_path, {}, platform)
    assert not is_default_profile(tmp_path / ".notebook-gateway" / "profile", tmp_path, {}, platform)


def test_c090_a_link_to_the_default_folder_is_the_default_folder_and_a_copy_is_not(tmp_path: Path) -> None:
    theirs = tmp_path / ".config" / "chromium"
    theirs.mkdir(parents=True)
    (tmp_path / "link").symlink_to(theirs)
    (tmp_path / "copy").mkdir()
    assert is_default_profile(tmp_path / "link", tmp_path, {}, "linux")
    assert not is_default_profile(tmp_path / "copy", tmp_path, {}, "linux")


def test_c090_it_is_refused_before_anything_is_written_or_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    theirs = tmp_path / ".config" / "google-chrome"
    theirs.mkdir(parents=True)
    home = tmp_path / "home"
    home.mkdir()
    (home / "profile").symlink_to(theirs)
    with pytest.raises(ValueError, match="the folder of an everyday browser"):
        prepare_profile(home)
    assert list(theirs.iterdir()) == []


def test_c090_the_configuration_folder_of_the_environment_counts(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}
    assert is_default_profile(tmp_path / "elsewhere" / "chromium", tmp_path, environ, "linux")


@pytest.mark.parametrize(
    ("path", "family"),
    [("/usr/bin/chromium", "Chromium"), ("/opt/x/chrome", "Google Chrome"), ("/usr/bin/brave", "Brave")],
)
def test_the_kind_of_a_browser_is_told_by_its_executable(path: str, family: str) -> None:
    found = maybe_family(Browser(Path(path), Path(path).name))
    assert found is not None
    assert found.name == family
    assert maybe_family(Browser(Path("/opt/firefox"), "firefox")) is None
