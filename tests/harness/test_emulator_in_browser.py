"""What a real page meets at the emulator: uploads with the headers that a browser adds, and answers that get lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from cdp.connection import Connection, open_connection
from cdp.targets import js_literal
from harness.browser import evaluate_in_tab
from harness.control import Control
from harness.emulator.seed import EMPTY_PLAN_ID

pytestmark = pytest.mark.browser

CALL = """
  const call = async (rpc, params) => {
    const query = new URLSearchParams({
      rpcids: rpc, "source-path": "/notebook/" + notebook, "f.sid": WIZ_global_data.FdrFJe, rt: "c" });
    const body = new URLSearchParams({
      "f.req": JSON.stringify([[[rpc, JSON.stringify(params), null, "generic"]]]), at: WIZ_global_data.SNlM0e });
    const headers = { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" };
    const url = `/_/LabsTailwindUi/data/batchexecute?${query}`;
    return await (await fetch(url, { method: "POST", headers, body: `${body}&` })).text();
  };
  const OPT = [2, null, null, [1, null, null, null, null, null, null, null, null, null, [1]]];
"""

ADD = """
    const spec = [null, ["T", "Some words."], null, 2, null, null, null, null, null, null, 1];
    await call("wXbhsf", [null, 1, null, OPT]);  // the connection has served a request before
    try {
      await call("izAoDd", [[spec], notebook, OPT]);
      return "answered";
    } catch (error) {
      return error.name;
    }
"""

UPLOAD = """
    const text = await call("o4cbdc", [[["a.txt"]], notebook, OPT]);
    const source = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(text)[0];
    const command = (name, more) => ({ "x-goog-upload-command": name, ...more });
    const started = await fetch("/upload/_/?authuser=0", {
      method: "POST",
      headers: command("start", {
        "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-header-content-length": String(size),
        "x-goog-upload-header-content-type": "text/plain",
      }),
      body: JSON.stringify({ PROJECT_ID: notebook, SOURCE_NAME: "a.txt", SOURCE_ID: source }),
    });
    const url = started.headers.get("x-goog-upload-url");
    const content = new Uint8Array(size).map((_, index) => index % 251);
    const outcomes = [];
    let offset = 0;
    while (offset < content.length) {
      const end = Math.min(offset + step, content.length);
      const name = end === content.length ? "upload, finalize" : "upload";
      const body = content.slice(offset, end);
      try {
        const headers = command(name, { "x-goog-upload-offset": String(offset) });
        const sent = await fetch(url, { method: "POST", headers, body });
        outcomes.push(sent.status);
        offset = end;
      } catch (error) {
        outcomes.push(error.name);
        const asked = await fetch(url, { method: "POST", headers: command("query"), body: "" });
        offset = Number(asked.headers.get("x-goog-upload-size-received"));
        outcomes.push(offset);
      }
    }
    return outcomes;
"""


@pytest.fixture
async def in_page(gateway_chain: dict[str, Any]) -> AsyncGenerator[Callable[[str], Any]]:
    """Run the body of a function in the page, with `call`, `OPT` and `notebook` at hand."""
    async with open_connection(gateway_chain["browser"]["cdp_url"]) as connection:
        yield Evaluator(connection)


class Evaluator:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __call__(self, script: str, **values: object) -> Any:
        constants = {"notebook": EMPTY_PLAN_ID, **values}
        declared = "".join(f"const {name} = {js_literal(value)};" for name, value in constants.items())
        return await evaluate_in_tab(self._connection, f"(async () => {{ {declared} {CALL} {script} }})()")


def adds(control: Control) -> int:
    return sum(entry["rpc"] == "izAoDd" for entry in control.requests())


def sources(control: Control) -> list[Any]:
    return next(row for row in control.state()["notebooks"] if row["id"] == EMPTY_PLAN_ID)["sources"]


async def test_a_lost_answer_fails_the_fetch_and_the_request_was_sent_once(
    in_page: Any, gateway_control: Control
) -> None:
    gateway_control.add_fault({"rpc": "izAoDd", "fault": "commit_then_drop"})
    assert await in_page(ADD) == "TypeError"
    assert (adds(gateway_control), len(sources(gateway_control))) == (1, 1)


async def test_a_bare_end_of_a_used_connection_makes_the_browser_send_the_request_again(
    in_page: Any, gateway_control: Control
) -> None:
    """The browser's own doing, below the page: one `fetch`, two requests, an answer to the second, and two sources."""
    gateway_control.add_fault({"rpc": "izAoDd", "fault": "commit_then_drop", "bare": True})
    assert await in_page(ADD) == "answered"
    assert (adds(gateway_control), len(sources(gateway_control))) == (2, 2)


async def test_a_page_uploads_and_resumes_after_a_cut(in_page: Any, gateway_control: Control) -> None:
    size, step = 1_300_000, 524_288
    gateway_control.add_fault({"rpc": "upload.slice", "fault": "cut_request", "keep_bytes": 262_145, "skip": 1})
    outcomes = await in_page(UPLOAD, size=size, step=step)
    assert outcomes == [200, "TypeError", 786_433, 200]
    (shown,) = gateway_control.uploads()
    expected = hashlib.sha256(bytes(index % 251 for index in range(size))).hexdigest()
    assert (shown["status"], shown["received_bytes"], shown["sha256"]) == ("final", size, expected)
    assert "upload_id" in json.dumps(gateway_control.requests()[-1]["query_keys"])
