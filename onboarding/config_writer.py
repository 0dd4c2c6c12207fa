"""Setting keys of `config.toml` without touching another byte of the person's."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from native_host.paths import config_file, ensure_private_folder
from onboarding.configuration import UnreadableConfig


def with_keys(text: str, keys: Mapping[str, str | bool]) -> str:
    """Return `text` with these top-level keys set; comments, order and spacing of everything else stay.

    Raises:
        UnreadableConfig: the text is no TOML.
    """
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise UnreadableConfig(f"config.toml is no TOML: {error}") from None
    for key, value in keys.items():
        if key not in document or document[key] != value:
            document[key] = value
    return tomlkit.dumps(document)


def write_keys(home: Path, keys: Mapping[str, str | bool]) -> bool:
    """Set keys in the file of `home`, making it where there is none; returns whether anything changed.

    Raises:
        UnreadableConfig: the present file cannot be read; it is left as it is.
    """
    file = config_file(home)
    try:
        old = file.read_bytes().decode("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableConfig(f"{file} cannot be read: {error}") from None
    new = with_keys(old, keys)
    if new == old and file.exists():
        return False
    ensure_private_folder(home)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as target:
        target.write(new.encode())
    temporary.replace(file)
    return True
