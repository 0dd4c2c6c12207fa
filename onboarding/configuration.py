"""What onboarding and the keeper need of `config.toml`; the broker checks the whole file (`broker/config.py`)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import attrs

from native_host.paths import config_file

IDLE_STOP_MIN: Final = 30


class UnreadableConfig(ValueError):
    """`config.toml` is there and cannot be read; the message says why."""


@attrs.frozen
class BrowserConfig:
    """The settings that concern the browser."""

    account: str | None = None
    browser: str = "daily"
    """``managed`` or ``daily``. Without the key nothing is ever started."""
    headless: bool = False
    idle_stop_min: int = IDLE_STOP_MIN
    """Minutes without a call after which the keeper ends the browser and itself; 0 for never."""


def read_browser_config(home: Path) -> BrowserConfig:
    """Return the settings of `home`; defaults where there is no file.

    Raises:
        UnreadableConfig: it is no TOML, or a value is of the wrong kind.
    """
    file = config_file(home)
    try:
        table: dict[str, object] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return BrowserConfig()
    except (OSError, ValueError) as error:
        raise UnreadableConfig(f"{file} cannot be read: {error}") from None
    account = table.get("account")
    browser = table.get("browser", "daily")
    headless = table.get("browser_headless", False)
    idle_stop_min = table.get("browser_idle_stop_min", IDLE_STOP_MIN)
    if account is not None and not isinstance(account, str):
        raise UnreadableConfig(f"{file}: 'account' must be the e-mail address of the account")
    if browser not in ("managed", "daily"):
        raise UnreadableConfig(f'{file}: \'browser\' must be "managed" or "daily"')
    if not isinstance(headless, bool):
        raise UnreadableConfig(f"{file}: 'browser_headless' must be true or false")
    if type(idle_stop_min) is not int or idle_stop_min < 0:
        raise UnreadableConfig(f"{file}: 'browser_idle_stop_min' must be a number of minutes, or 0 for never")
    return BrowserConfig(account, str(browser), headless, idle_stop_min)
