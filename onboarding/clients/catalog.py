"""The MCP clients that we know: where each keeps its servers, and what an entry looks like there. Pure.

Facts: the clients' own documentation as of November 2026. Desktop programs do not see a shell's PATH, so the command is
an absolute path. Paths of Windows are written down and not tested.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Final, Literal

import attrs

SERVER_KEY: Final = "notebook-gateway"
"""Without an underscore, which Gemini CLI does not take."""
CALL_TIMEOUT_S: Final = 180
"""A call of ours answers within 45 s; one that asks the person may wait for two minutes."""
START_TIMEOUT_S: Final = 30


@attrs.frozen
class ServerEntry:
    """How a client starts `serve`."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = attrs.field(factory=dict[str, str])


@attrs.frozen
class Places:
    """Where a person's files are on one machine."""

    home: Path
    platform: str
    environ: Mapping[str, str]

    def config(self, *parts: str) -> Path:
        """Return a path under the folder for programs' settings: ~/.config, Application Support or %APPDATA%."""
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming", *parts)
        if self.platform == "darwin":
            return Path(self.home, "Library", "Application Support", *parts)
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config", *parts)


@attrs.frozen
class Client:
    """One client. `file` is where entries go; `signs` are paths that tell that it is installed."""

    id: str
    title: str
    file: Callable[[Places], Path]
    member: tuple[str, ...]
    entry: Callable[[ServerEntry], dict[str, object]]
    format: Literal["json", "toml"] = "json"
    note: str = ""

    def signs(self, places: Places) -> list[Path]:
        """Return what is there when the client is: its file, or the folder that it makes for itself."""
        file = self.file(places)
        return [file] if file.parent == places.home else [file, file.parent]

    def entry_path(self) -> tuple[str, ...]:
        return (*self.member, SERVER_KEY)


def places_of(environ: Mapping[str, str], platform: str) -> Places:
    """Return the places of this person; clients go by HOME, as we do here."""
    home = environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return Places(Path(home), platform, environ)


def _plain(server: ServerEntry) -> dict[str, object]:
    entry: dict[str, object] = {"command": server.command, "args": list(server.args)}
    return {**entry, "env": dict(server.env)} if server.env else entry


def _typed(server: ServerEntry) -> dict[str, object]:
    return {"type": "stdio", **_plain(server)}


def _claude_code(server: ServerEntry) -> dict[str, object]:
    return {**_typed(server), "timeout": CALL_TIMEOUT_S * 1000}


def _codex(server: ServerEntry) -> dict[str, object]:
    return {**_plain(server), "startup_timeout_sec": START_TIMEOUT_S, "tool_timeout_sec": CALL_TIMEOUT_S}


def _gemini(server: ServerEntry) -> dict[str, object]:
    return {**_plain(server), "timeout": CALL_TIMEOUT_S * 1000}


def _cline(server: ServerEntry) -> dict[str, object]:
    return {**_plain(server), "disabled": False, "timeout": CALL_TIMEOUT_S}


def _zed(server: ServerEntry) -> dict[str, object]:
    return {**_plain(server), "env": dict(server.env)}


def _opencode(server: ServerEntry) -> dict[str, object]:
    entry: dict[str, object] = {"type": "local", "command": [server.command, *server.args], "enabled": True}
    if server.env:
        entry["environment"] = dict(server.env)
    return {**entry, "timeout": START_TIMEOUT_S * 1000}


def _zed_file(places: Places) -> Path:
    if places.platform == "darwin":
        return places.home / ".config" / "zed" / "settings.json"
    return places.config("Zed" if places.platform == "win32" else "zed", "settings.json")


def _opencode_file(places: Places) -> Path:
    folder = Path(places.environ.get("XDG_CONFIG_HOME") or places.home / ".config", "opencode")
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _under_home(*parts: str) -> Callable[[Places], Path]:
    return lambda places: Path(places.home, *parts)


def _under_config(*parts: str) -> Callable[[Places], Path]:
    return lambda places: places.config(*parts)


_CLINE: Final = ("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")

_ALL: Final = (
    Client("claude-code", "Claude Code", _under_home(".claude.json"), ("mcpServers",), _claude_code),
    Client(
        "claude-desktop",
        "Claude Desktop",
        _under_config("Claude", "claude_desktop_config.json"),
        ("mcpServers",),
        _plain,
        note="Quit and start it anew afterwards. There is no official build for Linux.",
    ),
    Client("cursor", "Cursor", _under_home(".cursor", "mcp.json"), ("mcpServers",), _typed),
    Client("windsurf", "Windsurf", _under_home(".codeium", "windsurf", "mcp_config.json"), ("mcpServers",), _plain),
    Client("vscode", "VS Code", _under_config("Code", "User", "mcp.json"), ("servers",), _typed),
    Client("codex", "Codex", _under_home(".codex", "config.toml"), ("mcp_servers",), _codex, format="toml"),
    Client("gemini-cli", "Gemini CLI", _under_home(".gemini", "settings.json"), ("mcpServers",), _gemini),
    Client("zed", "Zed", _zed_file, ("context_servers",), _zed),
    Client("cline", "Cline", _under_config(*_CLINE), ("mcpServers",), _cline),
    Client("opencode", "OpenCode", _opencode_file, ("mcp",), _opencode),
)
CLIENTS: Final[Mapping[str, Client]] = {client.id: client for client in _ALL}


def file_name(client: Client, places: Places) -> str:
    """Return the file for messages, with ~ for the home folder."""
    file = client.file(places)
    return str(PurePath("~", file.relative_to(places.home))) if file.is_relative_to(places.home) else str(file)
