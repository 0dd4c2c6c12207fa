"""The host's fragments and the worker's joiner (the real `fragments.js`, in node) against a naive model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import native_host
from native_host import fragments

JOINER = Path(native_host.__file__).resolve().parents[1] / "extension" / "lib" / "fragments.js"
PIECE_BYTES = 5
LIMIT_BYTES = 25

# One line in, one line out. `new` begins an example.
NODE = """
import {createInterface} from "node:readline";
const {BadFragment, FragmentJoiner} = await import(process.argv[1]);
let joiner;
for await (const line of createInterface({input: process.stdin})) {
  const {what, frame, conn, limit} = JSON.parse(line);
  let said = {};
  try {
    if (what === "new") joiner = new FragmentJoiner(limit);
    else if (what === "take") { const value = joiner.take(frame); if (value !== undefined) said = {value}; }
    else if (what === "drop") joiner.drop(conn);
    else joiner.clear();
  } catch (error) {
    said = {refused: error instanceof BadFragment, text: String(error)};
  }
  console.log(JSON.stringify({...said, held: joiner.held_bytes}));
}
"""

MESSAGES = st.dictionaries(st.sampled_from("abé"), st.text(alphabet='é😀"\\\x01a', max_size=8), max_size=2)


@contextmanager
def running_joiner() -> Generator[subprocess.Popen[str]]:
    command = ["node", "--input-type=module", "--eval", NODE, "--", JOINER.as_uri()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        try:
            yield node
        finally:
            node.kill()


def frames_of(conn: int, call_id: int, message: dict[str, str]) -> list[dict[str, Any]]:
    """Cut a message as the host does, into pieces so small that cuts fall inside of characters."""
    payload = json.dumps(message, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "FRAGMENT_BYTES", PIECE_BYTES)
        count = fragments.fragment_count(payload)
        return [json.loads(fragments.encode_fragment(conn, call_id, payload, seq)) for seq in range(count)]


class Joiner(RuleBasedStateMachine):
    """Three connections whose pieces come in turns, with gaps, repeats, ends and a limit over all of them."""

    node: subprocess.Popen[str]

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        # By connection: the message on its way, all its frames, how many were taken, and their bytes.
        self.messages: dict[int, tuple[dict[str, str], list[dict[str, Any]]]] = {}
        self.taken: dict[int, int] = {}
        self.held: dict[int, int] = {}
        self.said = self.ask(what="new", limit=LIMIT_BYTES)

    def ask(self, **line: object) -> dict[str, Any]:
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        self.node.stdin.write(json.dumps(line) + "\n")
        self.node.stdin.flush()
        said: dict[str, Any] = json.loads(self.node.stdout.readline())
        return said

    @rule(conn=st.integers(1, 3), message=MESSAGES)
    def begin(self, conn: int, message: dict[str, str]) -> None:
        if conn not in self.messages:
            self.calls += 1
            self.messages[conn] = (message, frames_of(conn, self.calls, message))
            self.taken[conn] = self.held[conn] = 0

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), count=st.integers(1, 6))
    def next_pieces(self, data: st.DataObject, count: int) -> None:
        conn = data.draw(st.sampled_from(sorted(self.messages)))
        for _ in range(count):
            if conn in self.messages:
                self.take_next(conn)

    def take_next(self, conn: int) -> None:
        message, frames = self.messages[conn]
        frame = frames[self.taken[conn]]
        size = min(PIECE_BYTES, len(json.dumps(message, ensure_ascii=False).encode()) - PIECE_BYTES * self.taken[conn])
        fits = sum(self.held.values()) + size <= LIMIT_BYTES
        self.said = self.ask(what="take", frame=frame)
        if not fits:
            assert self.said["refused"] is True
            self.forget(conn)
        elif frame["last"]:
            assert self.said["value"] == message
            self.forget(conn)
        else:
            assert "value" not in self.said
            assert "refused" not in self.said
            self.taken[conn] += 1
            self.held[conn] += size

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), wrong=st.sampled_from(["seq", "id", "data"]))
    def wrong_piece(self, data: st.DataObject, wrong: str) -> None:
        conn = data.draw(st.sampled_from(sorted(self.messages)))
        frame = dict(self.messages[conn][1][self.taken[conn]])
        if wrong == "data":
            frame["data"] = "*no base64*"
        elif wrong == "seq" or self.taken[conn]:  # before its first piece a message has no id yet
            frame[wrong] += 1
        else:
            return
        self.said = self.ask(what="take", frame=frame)
        assert self.said["refused"] is True
        self.forget(conn)

    @rule(conn=st.integers(1, 3))
    def connection_ends(self, conn: int) -> None:
        self.said = self.ask(what="drop", conn=conn)
        self.forget(conn)

    @rule()
    def port_ends(self) -> None:
        self.said = self.ask(what="clear")
        for conn in list(self.messages):
            self.forget(conn)

    @invariant()
    def holds_what_was_taken_and_nothing_more(self) -> None:
        assert self.said["held"] == sum(self.held.values()) <= LIMIT_BYTES

    def forget(self, conn: int) -> None:
        for kept in (self.messages, self.taken, self.held):
            kept.pop(conn, None)


def test_joined_messages_are_those_that_were_cut_and_nothing_else_is_kept() -> None:
    with running_joiner() as node:
        Joiner.node = node
        run_state_machine_as_test(Joiner, settings=settings(max_examples=100, stateful_step_count=40, deadline=None))
