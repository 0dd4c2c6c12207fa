"""Where a browser is looked for, and what is said when there is none."""

import os
from pathlib import Path

import pytest

from cdp.errors import BrowserNotFound
from cdp.finder import LINUX_PLACES, MAC_PLACES, Browser, confinement_of, find_all, find_browser


def installed(*paths: str):
    """Pretend that these, and nothing else, are on the machine. Names without a slash are on PATH."""
    return lambda name: (name if "/" in name else f"/usr/bin/{name}") if name in paths else None


def test_the_variable_wins_over_everything_that_is_installed():
    places = installed("/opt/mine/chrome", "chromium")
    browser = find_browser({"NOTEBOOK_GATEWAY_BROWSER": "/opt/mine/chrome"}, platform="linux", maybe_executable=places)
    assert browser == Browser(Path("/opt/mine/chrome"), "chrome")


def test_a_variable_that_names_nothing_is_an_error_and_no_other_browser_is_taken():
    with pytest.raises(BrowserNotFound, match="NOTEBOOK_GATEWAY_BROWSER names '/nowhere'") as caught:
        find_browser({"NOTEBOOK_GATEWAY_BROWSER": "/nowhere"}, maybe_executable=installed("chromium"))
    assert caught.value.looked_for == ("/nowhere",)


def test_an_unbranded_build_is_preferred_to_a_branded_one():
    """Branded Chrome installs an unpacked extension over the debugging pipe only."""
    places = installed("google-chrome", "chromium")
    assert find_browser({}, platform="linux", maybe_executable=places).name == "Chromium"


@pytest.mark.parametrize(("name", "place"), LINUX_PLACES)
def test_each_place_on_linux_is_found_when_it_is_the_only_one(name, place):
    place = os.path.expanduser(place)
    assert find_browser({}, platform="linux", maybe_executable=installed(place)).name == name


@pytest.mark.parametrize(("name", "place"), [row for row in MAC_PLACES if row[1].startswith("/Applications")])
def test_each_application_on_macos_is_found_when_it_is_the_only_one(name, place):
    browser = find_browser({}, platform="darwin", maybe_executable=installed(place))
    assert browser == Browser(Path(place), name)


WINDOWS = {"PROGRAMFILES": "C:/Program Files", "PROGRAMFILES(X86)": "C:/x86", "LOCALAPPDATA": "C:/Users/ada/Local"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("C:/Users/ada/Local/Chromium/Application/chrome.exe", "Chromium"),
        ("C:/Program Files/Google/Chrome/Application/chrome.exe", "Google Chrome"),
        ("C:/x86/Microsoft/Edge/Application/msedge.exe", "Microsoft Edge"),
        ("C:/Users/ada/Local/BraveSoftware/Brave-Browser/Application/brave.exe", "Brave"),
    ],
)
def test_a_browser_on_windows_is_found_where_its_installer_puts_it(path, name):
    assert find_browser(WINDOWS, platform="win32", maybe_executable=installed(path)) == Browser(Path(path), name)


@pytest.mark.parametrize(
    ("path", "confinement"),
    [
        ("/snap/bin/chromium", "snap"),
        ("/var/lib/flatpak/exports/bin/com.google.Chrome", "flatpak"),
        ("/home/ada/.local/share/flatpak/exports/bin/org.chromium.Chromium", "flatpak"),
        ("/opt/google/chrome/chrome", None),
    ],
)
def test_snap_and_flatpak_are_recognised_by_their_place(path, confinement):
    assert confinement_of(Path(path)) == confinement


def test_a_packages_command_that_leads_to_a_snap_is_a_snap_and_comes_last(tmp_path):
    link = tmp_path / "chromium-browser"
    link.symlink_to("/usr/bin/snap")
    there = {"chromium-browser": str(link), "brave": "/usr/bin/brave"}
    found = find_all({}, platform="linux", maybe_executable=there.get)
    assert [browser.name for browser in found] == ["Brave", "Chromium"]
    assert confinement_of(found[1].path) == "snap"


@pytest.mark.parametrize(
    ("platform", "manager", "command"),
    [
        ("linux", "apt-get", "sudo apt-get install chromium"),
        ("linux", "dnf", "sudo dnf install chromium"),
        ("linux", "pacman", "sudo pacman -S chromium"),
        ("linux", "zypper", "sudo zypper install chromium"),
        ("darwin", "brew", "brew install --cask google-chrome"),
        ("win32", "winget", "winget install Google.Chrome"),
    ],
)
def test_without_any_browser_the_message_has_the_places_and_one_command(platform, manager, command):
    with pytest.raises(BrowserNotFound) as caught:
        find_browser(WINDOWS, platform=platform, maybe_executable=installed(manager))
    message = str(caught.value)
    assert f"`{command}`" in message
    assert all(place in message for place in caught.value.looked_for)
    assert (
        len(caught.value.looked_for) == {"linux": len(LINUX_PLACES), "darwin": len(MAC_PLACES), "win32": 12}[platform]
    )


@pytest.mark.browser
def test_this_machine_has_a_browser():
    assert find_browser().path.exists()
