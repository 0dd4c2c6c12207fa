"""What all writing tools show alike: the key, and the form of a write that is still running. Pure."""

from __future__ import annotations

from typing import Final

from broker.schemas import JsonSchema, flag, list_of, text, whole_number

RETRY_AFTER_S: Final = 2
MAX_KEY_CHARS: Final = 200

IDEMPOTENCY_KEY_SCHEMA: Final = text(
    "A token of your choice, new for each new write. Repeat a write with the same key and the same arguments.",
    minLength=1,
    maxLength=MAX_KEY_CHARS,
)

RUNNING_FACTS: Final[dict[str, JsonSchema]] = {
    "replayed": flag("The stored result of an earlier call with this key."),
    "stage": text("What the write is doing, when status is running."),
    "retry_after_s": whole_number("When status is running: make the same call again after this time.", minimum=1),
}

DOUBLES_SCHEMA: Final = list_of(
    text(),
    "Ids of things like it that appeared beside it: the browser may have sent the one request twice. Tell the person.",
)


def with_doubles(facts: dict[str, object], doubles: list[str]) -> dict[str, object]:
    """Return a result's facts with the possible doubles, if there are any."""
    return {**facts, "possible_duplicates": doubles} if doubles else facts


def with_retry(facts: dict[str, object]) -> dict[str, object]:
    """Return a result's facts; the running form says when to call again."""
    return {**facts, "retry_after_s": RETRY_AFTER_S} if facts.get("status") == "running" else facts
