"""Each client of the catalogue: installed, read back, and taken out again byte for byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from notebook_gateway.install_command import CLIENT_IDS
from onboarding.clients import (
    CLIENTS,
    CannotInstall,
    Client,
    Places,
    ServerEntry,
    install,
    installed_entry,
    is_there,
    render,
    uninstall,
)
from onboarding.footprint import Footprint

ENTRY = ServerEntry("/opt/python", ("-P", "-m", "notebook_gateway", "serve"), {"NOTEBOOK_GATEWAY_HOME": "/srv/ng"})
SERVERS_OF_THE_PERSON = {
    "json": b'{\n  "kept": [1],\n  "mcpServers": {"a": {}}, "servers": {}, "mcp": {}, "context_servers": {"b": 1}\n}',
    "toml": b'# kept\n[mcp_servers.a]\ncommand = "a"\n',
}
every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home", "linux", {})


@pytest.fixture
def footprint(tmp_path: Path) -> Footprint:
    return Footprint(tmp_path / "gateway")


def read(client: Client, path: Path) -> dict[str, object]:
    text = path.read_text()
    document = tomllib.loads(text) if client.format == "toml" else json.loads(text)
    for name in client.entry_path():
        document = document[name]
    return document


def test_the_command_line_knows_the_clients_of_the_catalogue() -> None:
    assert tuple(CLIENTS) == CLIENT_IDS


@every_client
def test_an_installed_entry_starts_serve_by_absolute_path(client: Client, places: Places, footprint: Footprint) -> None:
    installed = install(client, ENTRY, places, footprint)
    entry = read(client, installed.path)
    command = entry["command"]
    words = command if isinstance(command, list) else [command, *entry["args"]]  # type: ignore[misc]
    assert words == [ENTRY.command, *ENTRY.args]
    assert entry.get("env", entry.get("environment")) == ENTRY.env
    assert installed_entry(client, places) == entry
    assert installed.path.stat().st_mode & 0o777 == 0o600


@every_client
def test_a_clients_own_time_out_is_raised_where_it_has_one(client: Client) -> None:
    """Facts of each client's documentation: unit and key differ."""
    expected = {
        "claude-code": {"timeout": 180_000},
        "gemini-cli": {"timeout": 180_000},
        "cline": {"timeout": 180},
        "codex": {"tool_timeout_sec": 180, "startup_timeout_sec": 30},
        "opencode": {"timeout": 30_000},
    }.get(client.id, {})
    entry = client.entry(ENTRY)
    assert {key: value for key, value in entry.items() if "timeout" in key} == expected


@every_client
@pytest.mark.parametrize("has_file", [True, False])
def test_uninstall_gives_back_the_former_bytes(
    client: Client, has_file: bool, places: Places, footprint: Footprint
) -> None:
    file = client.file(places)
    places.home.mkdir()
    if has_file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(SERVERS_OF_THE_PERSON[client.format])
    before = sorted((path, path.read_bytes() if path.is_file() else b"") for path in places.home.rglob("*"))
    assert install(client, ENTRY, places, footprint).is_changed
    assert not install(client, ENTRY, places, footprint).is_changed
    assert uninstall(client, places, footprint) is not None
    after = sorted((path, path.read_bytes() if path.is_file() else b"") for path in places.home.rglob("*"))
    assert after == before
    assert uninstall(client, places, footprint) is None


@every_client
def test_what_the_person_changed_since_stays(client: Client, places: Places, footprint: Footprint) -> None:
    file = client.file(places)
    file.parent.mkdir(parents=True)
    file.write_bytes(SERVERS_OF_THE_PERSON[client.format])
    install(client, ENTRY, places, footprint)
    comment = b"# later\n" if client.format == "toml" else b"\n// later\n"
    file.write_bytes(file.read_bytes() + comment)
    install(client, ServerEntry("/other", ()), places, footprint)
    uninstall(client, places, footprint)
    assert comment.strip() in file.read_bytes()
    assert b"notebook-gateway" not in file.read_bytes()
    assert b"kept" in file.read_bytes()


@every_client
def test_a_broken_file_is_refused_and_left_as_it_is(client: Client, places: Places, footprint: Footprint) -> None:
    file = client.file(places)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"{ broken")
    with pytest.raises(CannotInstall, match=file.name):
        install(client, ENTRY, places, footprint)
    assert file.read_bytes() == b"{ broken"
    assert footprint.records == ()


@every_client
def test_printing_gives_the_block_and_touches_nothing(client: Client, places: Places) -> None:
    assert "notebook-gateway" in render(client, ENTRY)
    assert not places.home.exists()


def test_a_client_is_found_by_its_own_folder_and_not_by_the_home_folder(places: Places) -> None:
    places.home.mkdir()
    assert not any(is_there(client, places) for client in CLIENTS.values())
    (places.home / ".cursor").mkdir()
    (places.home / ".claude.json").write_text("{}")
    assert [client.id for client in CLIENTS.values() if is_there(client, places)] == ["claude-code", "cursor"]


@pytest.mark.parametrize(
    ("platform", "client_id", "path"),
    [
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
    ],
)
def test_the_file_is_where_the_client_looks_on_each_system(platform: str, client_id: str, path: str) -> None:
    places = Places(Path("/home/ada"), platform, {})
    assert CLIENTS[client_id].file(places) == Path("/home/ada", path)


def test_a_linked_file_is_changed_behind_its_link_and_keeps_its_mode(places: Places, footprint: Footprint) -> None:
    real = places.home / "dotfiles" / "cursor.json"
    real.parent.mkdir(parents=True)
    real.write_bytes(b"{}\n")
    real.chmod(0o644)
    link = CLIENTS["cursor"].file(places)
    link.parent.mkdir()
    link.symlink_to(real)
    install(CLIENTS["cursor"], ENTRY, places, footprint)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o644
    uninstall(CLIENTS["cursor"], places, footprint)
    assert (link.is_symlink(), real.read_bytes()) == (True, b"{}\n")
