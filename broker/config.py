"""`config.toml`: what the person decides once. Pure parser, and a holder that reads the file when it is first needed.

A broken file never stops `serve`: it is reported by the first call that needs it, and read again by the next one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from broker.errors import AuthRequired
from native_host.paths import config_file

KNOWN_KEYS: Final = ("account", "project_folder")
MAX_CONFIG_BYTES: Final = 64 * 1024


class ConfigError(ValueError):
    """The text is not a configuration; the message names the key or line."""


@frozen
class Config:
    """`account` is the e-mail address of the one account to work as. `project_folder`, absolute, is where
    `.notebook_mcp.json` belongs when that is not the working directory."""

    account: str
    project_folder: Path | None = None


def parse_config(text: str) -> Config:
    """Return the configuration in `text`.

    Raises:
        ConfigError: no TOML, an unknown key, a wrong type, or no account.
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
    if folder is not None and not (isinstance(folder, str) and Path(folder).is_absolute()):
        raise ConfigError("key 'project_folder' must be an absolute path")
    return Config(account.strip(), None if folder is None else Path(str(folder)))


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
