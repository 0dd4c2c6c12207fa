"""Where a browser is looked for, and what is said when there is none."""

from pathlib import Path

import pytest

from cdp.errors import BrowserNotFound
from cdp.finder import LINUX_PLACES, MAC_PLACES, Browser, find_browser


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
    assert find_browser({}, platform="linux", maybe_executable=installed(place)).name == name


@pytest.mark.parametrize(("name", "place"), [row for row in MAC_PLACES if row[1].startswith("/Applications")])
def test_each_application_on_macos_is_found_when_it_is_the_only_one(name, place):
    browser = find_browser({}, platform="darwin", maybe_executable=installed(place))
    assert browser == Browser(Path(place), name)


@pytest.mark.parametrize(
    ("platform", "manager", "command"),
    [
        ("linux", "apt-get", "sudo apt-get install chromium"),
        ("linux", "dnf", "sudo dnf install chromium"),
        ("linux", "pacman", "sudo pacman -S chromium"),
        ("linux", "zypper", "sudo zypper install chromium"),
        ("darwin", "brew", "brew install --cask google-chrome"),
    ],
)
def test_without_any_browser_the_message_has_the_places_and_one_command(platform, manager, command):
    with pytest.raises(BrowserNotFound) as caught:
        find_browser({}, platform=platform, maybe_executable=installed(manager))
    message = str(caught.value)
    assert f"`{command}`" in message
    assert all(place in message for place in caught.value.looked_for)
    assert len(caught.value.looked_for) == len(MAC_PLACES if platform == "darwin" else LINUX_PLACES)


@pytest.mark.browser
def test_this_machine_has_a_browser():
    assert find_browser().path.exists()
