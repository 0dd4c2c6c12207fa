"""A headless browser that can reach the emulator and nothing else, on a profile that is thrown away.

Nothing in the product knows that it is being tested: Chrome itself is told where the service's host names live, and to
accept the emulator's key in place of a trusted issuer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from cdp.connection import Connection
from cdp.targets import TargetInfo, attached, evaluate, get_targets
from harness.emulator.hosts import DEFAULT_HOST, HOSTS, NOTEBOOK_HOSTS


def browser_arguments(address: str, spki_sha256_b64: str, hosts: Sequence[str] = HOSTS) -> list[str]:
    """Return Chromium's arguments. `address` is the emulator's ``127.0.0.1:<port>``.

    The resolver rules end in a refusal of every other name (loopback excepted), so nothing reaches the internet.
    """
    rules = [*(f"MAP {host} {address}" for host in hosts), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
    arguments = [
        "--headless=new",
        f"--host-resolver-rules={', '.join(rules)}",
        f"--ignore-certificate-errors-spki-list={spki_sha256_b64}",
        "--enable-unsafe-extension-debugging",
        "--no-proxy-server",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-gpu",
        "--disable-quic",
        "--disable-sync",
        "--password-store=basic",
        "--use-mock-keychain",
    ]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # Chromium's sandbox refuses to run as root, as in most containers
    return [*arguments, "about:blank"]


def browser_environment(home: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the browser's environment: what it writes outside of its profile goes into `home`, and away with it."""
    folders = {"HOME": home / "browser-home", "TMPDIR": home / "tmp"}
    for folder in folders.values():
        folder.mkdir(mode=0o700, exist_ok=True)
    kept = {key: value for key, value in environ.items() if not key.startswith("XDG_")}
    return {**kept, **{key: str(folder) for key, folder in folders.items()}}


def write_preferences(user_data_dir: Path) -> None:
    """Switch developer mode on in a new profile, as everybody has who loads an unpacked extension by hand.

    A profile that is there already keeps its preferences.

    Without it Chromium takes the extension over CDP all the same, but disables it when it is reloaded (measured on 156:
    disable reason 1 << 24, "unsupported developer extension").
    """
    folder = user_data_dir / "Default"
    if folder.exists():
        return
    folder.mkdir(mode=0o700, parents=True)
    preferences = {"extensions": {"ui": {"developer_mode": True}}}
    (folder / "Preferences").write_text(json.dumps(preferences), encoding="utf-8")


def notebook_url(account: str, host: str = DEFAULT_HOST) -> str:
    """Return the address of the notebook list for one account."""
    return f"https://{host}/?authuser={quote(account, safe='')}"


def is_notebook_tab(target: TargetInfo) -> bool:
    """Whether a target is a tab on one of the service's notebook hosts."""
    return target.type == "page" and urlsplit(target.url).hostname in NOTEBOOK_HOSTS


async def evaluate_in_tab(connection: Connection, expression: str) -> object:
    """Evaluate script in the first notebook tab, await its promise, return its JSON value; attaches and detaches.

    Raises:
        LookupError: no notebook tab is open.
    """
    tabs = [target for target in await get_targets(connection) if is_notebook_tab(target)]
    if not tabs:
        raise LookupError("no notebook tab is open in the harness browser")
    async with attached(connection, tabs[0].id) as session:
        return await evaluate(session, expression)
