"""Which files are never uploaded, wherever the roots are: secrets by name, by folder or by first line. Pure.

A list cannot know every secret. It is the third line behind the roots and the person's own choice of them, against an
agent that was talked into fetching what every machine has at the same place. Names are compared without case, because
some file systems do.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

SYSTEM_FOLDERS: Final = tuple(map(PurePosixPath, ("/proc", "/sys", "/run/secrets", "/run/credentials")))
"""Processes with their environments, kernel settings, and secrets handed to containers and services."""

CREDENTIAL_FOLDERS: Final = frozenset(
    {
        ".aws",
        ".azure",
        ".docker",
        ".gnupg",
        ".kube",
        ".mozilla",
        ".password-store",
        ".ssh",
        ".thunderbird",
        "keychains",
        "keyrings",
    }
)
"""Refused even when a root is inside of one, or is one."""

SECRET_NAMES: Final = (
    # Key material
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.keytab",
    "*.ovpn",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "ssh_host_*",
    # Stores of passwords
    "*.kdb",
    "*.kdbx",
    "*.keychain",
    "*.keychain-db",
    "*.1pif",
    "*.agilekeychain",
    "*.opvault",
    "wallet.dat",
    # What programs keep of a browser's sessions
    "cookies",
    "cookies-journal",
    "cookies.sqlite*",
    "cookies.binarycookies",
    "cookies.txt",
    "login data*",
    "web data*",
    "local state",
    "logins.json",
    "key3.db",
    "key4.db",
    "signons.sqlite",
    # Settings that hold credentials
    "*.env",
    "credentials",
    "credentials.*",
    "secret.json",
    "secrets.json",
    "secret.y*ml",
    "secrets.y*ml",
    "secrets.toml",
    "client_secret*.json",
    "*service*account*.json",
    "application_default_credentials.json",
    "token.json",
    "tokens.json",
    "kubeconfig",
    "htpasswd",
    "_netrc",
    "shadow",
    "gshadow",
    "*.tfstate",
    "*.tfstate.backup",
)

FIRST_BYTES: Final = 128
"""How much of a file `maybe_secret_content` wants to see."""
_SECRET_STARTS: Final = (b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-", b"openssh-key-v1\0")


def maybe_secret_place(path: PurePosixPath, root: PurePosixPath) -> str | None:
    """Return why `path`, which lies under `root`, is never uploaded, or None. Both are absolute, without links."""
    for folder in SYSTEM_FOLDERS:
        if path.is_relative_to(folder):
            return f"{folder} belongs to the system"
    for part in path.parts[1:-1]:
        if part.casefold() in CREDENTIAL_FOLDERS:
            return f"folder {part!r} holds credentials"
    return _maybe_hidden(path.relative_to(root).parts) or maybe_secret_name(path.name)


def maybe_secret_name(name: str) -> str | None:
    """Return why a file of this name is never uploaded, or None."""
    folded = name.casefold()
    pattern = next((pattern for pattern in SECRET_NAMES if fnmatchcase(folded, pattern)), None)
    return None if pattern is None else f"names like {pattern} hold keys, credentials or sessions"


def maybe_secret_content(first_bytes: bytes) -> str | None:
    """Return why a file that begins so is never uploaded, or None: a key keeps its first line under any name."""
    start = first_bytes.removeprefix(b"\xef\xbb\xbf").lstrip()
    first_line = start.split(b"\n", 1)[0]
    is_key = first_line.startswith(b"-----BEGIN ") and b"PRIVATE KEY" in first_line
    return "it begins like a private key" if is_key or start.startswith(_SECRET_STARTS) else None


def _maybe_hidden(parts_below_root: Sequence[str]) -> str | None:
    hidden = next((part for part in parts_below_root if part.startswith(".")), None)
    return None if hidden is None else f"{hidden!r} is hidden"
