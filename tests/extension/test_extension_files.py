"""What the extension's files promise as a whole: manifest, twin of the protocol table, words that must not occur."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import native_host
from native_host import protocol
from native_host.build import BUILD

EXTENSION = Path(native_host.__file__).resolve().parents[1] / "extension"
SCRIPTS = sorted(EXTENSION.rglob("*.js"))
HOSTS = ["notebook.google.com", "notebooklm.google.com", "notebook.cloud.google.com", "notebooklm.cloud.google.com"]


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return json.loads((EXTENSION / "manifest.json").read_text(encoding="utf-8"))


def exports_of(module: str) -> dict[str, Any]:
    """Return the data that a module of the extension exports, as JSON."""
    code = "import(process.argv[1]).then((module) => console.log(JSON.stringify({...module})))"
    uri = (EXTENSION / "lib" / module).as_uri()
    printed = subprocess.run(["node", "--eval", code, uri], check=True, capture_output=True, text=True, timeout=30)
    return json.loads(printed.stdout)


def test_c040_the_fixed_key_gives_the_id_that_the_native_host_admits(manifest: dict[str, Any]) -> None:
    digest = hashlib.sha256(base64.b64decode(manifest["key"], validate=True)).hexdigest()[:32]
    assert "".join(chr(ord("a") + int(digit, 16)) for digit in digest) == protocol.EXTENSION_ID


def test_every_hop_of_the_extension_states_this_build(manifest: dict[str, Any]) -> None:
    assert manifest["version"] == BUILD
    assert exports_of("protocol.js")["BUILD"] == BUILD
    assert f'const BUILD = "{BUILD}";' in (EXTENSION / "page-main.js").read_text(encoding="utf-8")


def test_the_manifest_asks_for_nothing_but_the_closed_list(manifest: dict[str, Any]) -> None:
    patterns = [f"https://{host}/*" for host in HOSTS]
    assert sorted(manifest["permissions"]) == ["alarms", "nativeMessaging", "scripting", "storage", "tabs"]
    assert manifest["host_permissions"] == patterns
    assert [script["matches"] for script in manifest["content_scripts"]] == [patterns, patterns]
    assert sorted(manifest) == [
        "action",
        "background",
        "content_scripts",
        "description",
        "host_permissions",
        "icons",
        "key",
        "manifest_version",
        "minimum_chrome_version",
        "name",
        "permissions",
        "version",
    ]


def test_the_executor_is_there_before_any_script_of_the_page(manifest: dict[str, Any]) -> None:
    executor, wake = manifest["content_scripts"]
    assert executor["world"] == "MAIN"
    names = ["kit", "answers", "request", "upload-answers", "upload", "main"]
    assert executor["js"] == [f"page-{name}.js" for name in names]
    assert executor["run_at"] == wake["run_at"] == "document_start"
    assert "world" not in wake
    for file in [*executor["js"], *wake["js"], manifest["background"]["service_worker"]]:
        assert (EXTENSION / file).is_file()


def test_the_host_table_is_the_manifest_s() -> None:
    assert exports_of("hosts.js")["NOTEBOOK_HOSTS"] == HOSTS


def test_the_protocol_twin_equals_the_python_table() -> None:
    twin = exports_of("protocol.js")
    del twin["BUILD"]
    for name in ("HOST_TO_WORKER", "WORKER_TO_HOST"):
        assert sorted(twin.pop(name)) == sorted(getattr(protocol, name))
    ours = {name: json.loads(json.dumps(getattr(protocol, name))) for name in twin}
    assert twin == ours
    assert {"OPS", "EVENTS", "MESSAGES", "V_MIN", "V_MAX", "HOST_NAME", "HEARTBEAT_S"} <= twin.keys()


def test_no_file_starts_with_an_underscore() -> None:
    """Chrome refuses to load an extension that has one."""
    assert [path.name for path in EXTENSION.rglob("*") if path.name.startswith("_")] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_opens_another_channel_or_builds_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    forbidden = (
        r"\beval\s*\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|importScripts"
        r"|window\.postMessage|onMessageExternal|onConnectExternal|externally_connectable|runtime\.onMessage"
        r"|BroadcastChannel|addEventListener\(\"message\"|chrome\.cookies|chrome\.debugger"
    )
    assert re.findall(forbidden, text) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_only_the_adapter_and_the_wiring_touch_chrome(path: Path) -> None:
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    # `wake.js` is a content script and cannot import the adapter; `popup_worker.js` is the popup's own adapter.
    allowed = {"chrome_api.js", "service_worker.js", "wake.js", "popup_worker.js"}
    uses = re.findall(r"(?<![\w.#])chrome\.(?:runtime|tabs|storage|scripting|alarms|windows)\b", code)
    assert bool(uses) == (path.name in allowed)


def test_the_csrf_token_is_named_in_one_file_only() -> None:
    assert [path.name for path in SCRIPTS if "SNlM0e" in path.read_text(encoding="utf-8")] == ["page-request.js"]
