"""What the broker sends is what the extension's closed table admits: the two are written apart and compared here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import native_host
from broker import requests
from broker.requests import DriveSpec, RpcRequest, TextSpec, WebSpec, YouTubeSpec

POLICY = Path(native_host.__file__).resolve().parents[1] / "extension" / "lib" / "policy.js"
NOTEBOOK = "1a2b3c4d-0001-4a00-8b00-00000000000a"
SOURCE = "5a2b3c4d-0001-4a00-8b00-00000000000a"
NOTE = "4a2b3c4d-0001-4a00-8b00-00000000000a"
CONVERSATION = "c0ffee00-0001-4a00-8b00-00000000000a"
EMOJI_TITLE = "😀" * 1000
"""The longest title that a tool takes, in the characters that take most room."""
LONG_URL = "https://example.org/" + "ä" * 8000

CHECK = """
import {readFileSync} from "node:fs";
const {RPC_RULES, STREAM_PARAMS, checkParams} = await import(process.argv[1]);
const found = JSON.parse(readFileSync(0, "utf-8")).map(({rpc, params}) => {
  const rule = rpc === "stream" ? {params: STREAM_PARAMS} : RPC_RULES.get(rpc);
  if (rule === undefined) return "not in the table";
  try { return {write: rule.write === true, ids: checkParams(rpc, rule.params, params).ids.map(({id}) => id)}; }
  catch (error) { return error.message; }
});
console.log(JSON.stringify(found));
"""

READS = [
    requests.list_notebooks(),
    requests.get_notebook(NOTEBOOK),
    requests.read_source_text(NOTEBOOK, SOURCE),
    requests.read_source_guide(NOTEBOOK, SOURCE),
    requests.list_conversations(NOTEBOOK),
    requests.list_turns(NOTEBOOK, CONVERSATION, 20),
    requests.list_notes(NOTEBOOK),
]
WRITES = [
    requests.add_source(NOTEBOOK, TextSpec(EMOJI_TITLE, "text 😀\n" * 400_000)),
    requests.add_source(NOTEBOOK, WebSpec(LONG_URL)),
    requests.add_source(NOTEBOOK, YouTubeSpec("HTTPS://WWW.YOUTUBE.COM/watch?v=abcdefghijk")),
    requests.add_source(NOTEBOOK, DriveSpec("1aB_-x", "application/vnd.google-apps.document", EMOJI_TITLE)),
    requests.register_file(NOTEBOOK, "a b+c%20d#e?.txt"),
    requests.create_note(NOTEBOOK),
    requests.fill_note(NOTEBOOK, NOTE, EMOJI_TITLE, "text"),
    requests.delete_note(NOTEBOOK, NOTE),
]


def checked(calls: list[dict[str, Any]]) -> list[Any]:
    """Return what the table says to each call: the kind and the ids it found, or a refusal as text."""
    command = ["node", "--input-type=module", "--eval", CHECK, "--", POLICY.as_uri()]
    sent = json.dumps(calls)
    printed = subprocess.run(command, input=sent, check=True, capture_output=True, text=True, timeout=30).stdout
    return json.loads(printed)


@pytest.mark.parametrize(("sent", "is_write"), [(READS, False), (WRITES, True)], ids=["reads", "writes"])
def test_every_request_of_the_broker_is_admitted_as_what_it_is(sent: list[RpcRequest], is_write: bool) -> None:
    found = checked([{"rpc": request.rpc_id, "params": request.params} for request in sent])
    for request, answer in zip(sent, found, strict=True):
        assert isinstance(answer, dict), f"{request.rpc_id}: {answer}"
        assert answer["write"] is is_write


def test_the_question_of_the_broker_is_admitted_with_all_its_ids() -> None:
    params = requests.ask_params(NOTEBOOK, "why 😀?", [SOURCE, SOURCE], CONVERSATION)
    (answer,) = checked([{"rpc": "stream", "params": params}])
    assert answer == {"write": False, "ids": [SOURCE, SOURCE, CONVERSATION, NOTEBOOK]}
