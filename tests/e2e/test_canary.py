"""Secrets of the page are on no hop, log, file or result; a notebook's title, the positive control, is on each tap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp.connection import open_connection
from harness.browser import evaluate_in_tab
from harness.control import Control
from harness.emulator.seed import DEMO_QUESTION, LIGHTHOUSE_ID
from native_host.paths import HOME_VARIABLE
from tests.e2e.raw_broker import open_raw_broker
from tests.e2e.tool_calls import call, select, succeed
from tests.shared import case_input

pytestmark = pytest.mark.browser

SECRET_KEYS = ("SNlM0e", "FdrFJe", "WZsZ1e", "B8SWKb")
TITLE = "Lantern Rock"
OPTIONS = [2, None, None, [1, None, None, None, None, None, None, None, None, None, [1]]]


async def secrets_of_the_page(cdp_url: str) -> list[str]:
    """The page's tokens and every cookie value, read by CDP."""
    async with open_connection(cdp_url) as connection:
        wiz = await evaluate_in_tab(connection, f"{json.dumps(SECRET_KEYS)}.map(key => WIZ_global_data[key])")
        cookies = await connection.call("Storage.getCookies")
    assert isinstance(wiz, list)
    values = [str(value) for value in wiz]
    values += [str(cookie["value"]) for cookie in cookies["cookies"]]
    assert len(values) > len(SECRET_KEYS)
    assert all(len(value) >= 8 for value in values), values
    return values


def files_of_ours(home: Path) -> bytes:
    """Everything under the home folder that is neither the browser's profile nor the emulator's own."""
    theirs = {"profile", "browser-home", "tmp", "emulator"}
    paths = [path for path in home.rglob("*") if path.is_file() and not theirs & set(path.relative_to(home).parts)]
    assert paths
    return b"\n".join(path.read_bytes() for path in paths)


async def test_no_secret_of_the_page_is_on_any_hop(chain: dict[str, Any], control: Control, client: Any) -> None:
    secrets = await secrets_of_the_page(chain["browser"]["cdp_url"])
    taps: dict[str, str] = {}
    await select(client)
    await succeed(client, "query_notebook", {"question": DEMO_QUESTION, "request_key": "canary"})
    taps["results of serve"] = json.dumps(client.received, ensure_ascii=False)
    async with open_raw_broker(chain["socket"]) as broker:
        frames = [broker.welcome]
        for op, params, notebook in (
            ("identity", {"refresh": False}, None),
            ("status", {}, None),
            ("rpc", {"rpc": "wXbhsf", "params": [None, 1, None, OPTIONS]}, None),
            ("rpc", {"rpc": "rLM1Ne", "params": [LIGHTHOUSE_ID, None, OPTIONS, None, 0]}, LIGHTHOUSE_ID),
        ):
            got = await broker.call(op, params, notebook=notebook)
            assert got["ok"], got
            frames.append(got)
        taps["frames of the socket"] = json.dumps(frames, ensure_ascii=False)
    for name, text in taps.items():
        assert TITLE in text, f"{name} is not a working tap"
    taps["standard error of serve"] = "\n".join(client.stderr_lines)
    taps["files"] = files_of_ours(Path(chain["env"][HOME_VARIABLE])).decode(errors="replace")
    assert LIGHTHOUSE_ID in taps["files"]  # the allowlist: this tap works too
    taps["what the service logged"] = json.dumps(control.requests())
    for name, text in taps.items():
        for secret in secrets:
            assert secret not in text, f"{name} holds a secret of the page"


async def test_c029_secrets_in_what_the_service_says_are_not_passed_on(
    chain: dict[str, Any], control: Control, client: Any
) -> None:
    markers = [str(value) for value in _texts(json.loads(case_input("C-029-markers.json").read_text()))]
    await select(client)
    page = "\n".join(markers)
    answered_by_a_page = {"fault": "body", "body": f"<html>{page}</html>"}
    refused_with_a_page = {"fault": "http_error", "http_status": 500, "reason": page}
    for fault in (answered_by_a_page, refused_with_a_page):
        control.add_fault({"rpc": "rLM1Ne", "times": None, **fault})
        with trio.fail_after(30):
            envelope = await call(client, "list_sources")
        assert not envelope["ok"]
        control.clear_faults()
    seen = json.dumps(client.received) + "\n".join(client.stderr_lines)
    seen += files_of_ours(Path(chain["env"][HOME_VARIABLE])).decode(errors="replace")
    for marker in markers:
        assert marker not in seen


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for member in value.values() for text in _texts(member)]
    if isinstance(value, list):
        return [text for member in value for text in _texts(member)]
    return [value] if isinstance(value, str) and len(value) >= 8 else []
