"""`config.toml`: what the person decides once. Pure parser, and a holder that reads the file when it is first needed.

A broken file never stops `serve`: it is reported by the first call that needs it, and read again by the next one.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final, cast

import trio
from attrs import frozen

from broker.errors import AuthRequired
from native_host.paths import config_file
from native_host.resource_profile import EMPTY, BadProfile, ResourceProfile, parse_profile

KNOWN_KEYS: Final = (
    "account",
    "project_folder",
    "file_roots",
    "max_file_bytes",
    "allow_private_urls",
    "confirm_deletes",
    "requests_per_minute",
    "resources",
    "browser",
    "browser_headless",
    "browser_idle_stop_min",
)
MAX_CONFIG_BYTES: Final = 64 * 1024
REQUESTS_PER_MINUTE: Final = 240
"""Several times what a busy agent needs, and a small part of what one that runs in circles can send."""
MAX_REQUESTS_PER_MINUTE: Final = 10_000
MAX_FILE_BYTES: Final = 200 * 1024 * 1024
"""The service takes no larger files; a person may set a smaller limit, or a larger one once the service does."""


class ConfigError(ValueError):
    """The text is not a configuration; the message names the key or line."""


@frozen
class Config:
    """What the person decided; everything but `account` has a default."""

    account: str
    """The e-mail address of the one account to work as."""
    project_folder: Path | None = None
    """Absolute: where `.notebook_mcp.json` belongs when that is not the working directory."""
    file_roots: tuple[Path, ...] = ()
    """Absolute: folders whose files may be uploaded, besides the project folder."""
    max_file_bytes: int = MAX_FILE_BYTES
    allow_private_urls: bool = False
    """Whether addresses of this machine and of private networks may be added as sources."""
    confirm_deletes: bool = True
    """Whether a deletion asks the person first, where the client can ask."""
    requests_per_minute: int = REQUESTS_PER_MINUTE
    """How many requests all brokers together may send for the account in any 60 s; 0 is without a limit."""
    resources: ResourceProfile = EMPTY
    """What our programs may take of the machine; each applies it to itself at its start."""
    manages_browser: bool = False
    """Whether a call that finds no browser starts the managed one."""


def parse_config(text: str) -> Config:
    """Return the configuration in `text`.

    Raises:
        ConfigError: no TOML, an unknown key, a value that the key does not take, or no account.
    """
    try:
        table: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}") from error
    unknown = sorted(table.keys() - set(KNOWN_KEYS))
    if unknown:
        raise ConfigError(f"unknown key {unknown[0]!r}; known keys: {', '.join(KNOWN_KEYS)}")
    account = table.get("account")
    if account is None:
        raise ConfigError("key 'account' is missing")
    if not isinstance(account, str) or not _is_address(account.strip()):
        raise ConfigError("key 'account' must be the e-mail address of the account")
    folder = table.get("project_folder")
    return Config(
        account=account.strip(),
        project_folder=None if folder is None else _absolute_folder("project_folder", folder),
        file_roots=_file_roots(table.get("file_roots", [])),
        max_file_bytes=_positive("max_file_bytes", table.get("max_file_bytes", MAX_FILE_BYTES)),
        allow_private_urls=_flag("allow_private_urls", table.get("allow_private_urls", False)),
        confirm_deletes=_flag("confirm_deletes", table.get("confirm_deletes", True)),
        requests_per_minute=_requests_per_minute(table.get("requests_per_minute", REQUESTS_PER_MINUTE)),
        resources=_resources(table.get("resources", {})),
        manages_browser=_manages_browser(table),
    )


def _resources(table: object) -> ResourceProfile:
    try:
        return parse_profile(table)
    except BadProfile as error:
        raise ConfigError(str(error)) from None


def _manages_browser(table: dict[str, object]) -> bool:
    """Check what the browser keeper will read of the same file, so that a wrong value is told where it can be."""
    browser = table.get("browser", "daily")
    if browser not in ("managed", "daily"):
        raise ConfigError(f'key \'browser\' must be "managed" or "daily", not {browser!r}')
    _flag("browser_headless", table.get("browser_headless", False))
    idle_stop_min = table.get("browser_idle_stop_min", 0)
    if type(idle_stop_min) is not int or idle_stop_min < 0:
        raise ConfigError(f"key 'browser_idle_stop_min' must be minutes, or 0 for never, not {idle_stop_min!r}")
    return browser == "managed"


def _absolute_folder(key: str, value: object) -> Path:
    if not isinstance(value, str) or not Path(value).is_absolute() or "\0" in value:
        raise ConfigError(f"key {key!r} must be an absolute path, not {value!r} (~ is not expanded)")
    return Path(value)


def _file_roots(value: object) -> tuple[Path, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"key 'file_roots' must be a list of absolute paths, not {value!r}")
    roots = tuple(_absolute_folder("file_roots", each) for each in cast("list[object]", value))
    for root in roots:
        if os.path.normpath(root).strip("/") == "":
            raise ConfigError("key 'file_roots' names /, the whole disk; name the folders that are meant")
    return roots


def _positive(key: str, value: object) -> int:
    if type(value) is not int or value < 1:  # a TOML boolean is an int of Python
        raise ConfigError(f"key {key!r} must be a whole number above 0, not {value!r}")
    return value


def _requests_per_minute(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_REQUESTS_PER_MINUTE:
        raise ConfigError(
            f"key 'requests_per_minute' must be 1 to {MAX_REQUESTS_PER_MINUTE}, or 0 for no limit, not {value!r}"
        )
    return value


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"key {key!r} must be true or false, not {value!r}")
    return value


def _is_address(text: str) -> bool:
    name, at, domain = text.rpartition("@")
    return bool(name and at and domain) and not any(character.isspace() for character in text)


class ConfigFile:
    """The configuration of this process. Once read it stays: a session never changes its account."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._config: Config | None = None

    def __repr__(self) -> str:
        return f"<ConfigFile {'read' if self._config else 'not read'}>"

    async def get(self) -> Config:
        """Return the configuration, reading the file until it was readable once.

        Raises:
            AuthRequired: there is no usable file; the message says what is wrong with it.
        """
        if self._config is None:
            self._config = await trio.to_thread.run_sync(read_config, self.path)
        return self._config


def load_config(home: Path) -> Config:
    """Read the configuration of the home folder now. Raises: AuthRequired, as `read_config`."""
    return read_config(config_file(home))


def read_config(path: Path) -> Config:
    """Read `path` now.

    Raises:
        AuthRequired: the file is missing or wrong.
    """
    hint = f'Ask the person to write `account = "<e-mail address>"` into {path}.'
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        raise AuthRequired(f"No account is configured: {path} does not exist.", hint=hint) from None
    except OSError as error:
        raise AuthRequired(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    try:
        if len(data) > MAX_CONFIG_BYTES:
            raise ConfigError(f"larger than {MAX_CONFIG_BYTES} bytes")
        return parse_config(data.decode())
    except ConfigError as error:
        raise AuthRequired(f"{path}: {error}.", hint=f"Ask the person to mend {path}.") from error
    except UnicodeDecodeError as error:
        raise AuthRequired(f"{path}: not UTF-8.", hint=f"Ask the person to mend {path}.") from error
