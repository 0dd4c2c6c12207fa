"""Questions to the person that a write waits for: how they may read, and which answers belong to them. No MCP here.

In the stateless era a question ends the call, and its answer arrives with a repeat of that call. Such an answer counts
once, for the very question that was asked about the very same call: everything the repeat carries is the client's word
(2026-07-28, multi round-trip requests). So a question is remembered here and not in the state that travels, which is
only its name; the process serves one client, and one that restarted simply asks again.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import orjson
import trio
from attrs import frozen

from broker.scrubber import scrub_content
from broker.wire_json import clean_text

CONFIRM_WITHIN_S: Final = 300.0
"""How long a person may think. Clients bound it too: many give up on a call after 60 s, and then nothing is sent."""
MAX_OPEN_QUESTIONS: Final = 32
"""The oldest is forgotten beyond that; answering it then asks it again."""

_BREAKS_THE_LINE: Final = re.compile("[\\x00-\\x20\\x7f-\\xa0\\u200e\\u200f\\u2028-\\u202f\\u2066-\\u2069]+")
"""White space, controls, and the marks that turn the direction of text."""


class AnswerNeeded(Exception):
    """Ends a call whose question travels in its result. Not an error: the repeat brings the answer."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


@frozen
class OpenQuestion:
    """What was asked, about which call (a digest), and when it stops counting (Trio clock)."""

    question: str
    call: str
    ends_at: float


class OpenQuestions:
    """The questions of this process that wait for their answer."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[str, OpenQuestion] = OrderedDict()

    def __repr__(self) -> str:
        return f"<OpenQuestions {len(self._by_name)}>"

    def ask(self, question: str, call: str) -> str:
        """Remember a question; return the name that its answer has to give."""
        name = secrets.token_urlsafe(24)
        self._by_name[name] = OpenQuestion(question, call, trio.current_time() + CONFIRM_WITHIN_S)
        while len(self._by_name) > MAX_OPEN_QUESTIONS:
            self._by_name.popitem(last=False)
        return name

    def take(self, name: str | None, question: str, call: str) -> bool:
        """Tell whether this question is open under `name` for `call`, and close it either way."""
        asked = None if name is None else self._by_name.pop(name, None)
        return (
            asked is not None
            and (asked.question, asked.call) == (question, call)
            and trio.current_time() < asked.ends_at
        )


def call_digest(tool: str, arguments: Mapping[str, object]) -> str:
    """Return what makes two calls the same one, whatever the order of their arguments."""
    canonical = orjson.dumps([tool, dict(arguments)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()


def one_line(question: str) -> str:
    """Return the question as the person may see it.

    Titles stand in it, and they are content: they must not bring lines of their own, turn the text around, or show a
    secret.
    """
    return scrub_content(_BREAKS_THE_LINE.sub(" ", clean_text(question)).strip())
