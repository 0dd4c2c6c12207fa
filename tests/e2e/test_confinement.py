"""What the extension refuses, whatever a broker says: each test sends a forged frame through the real host.

Nothing of our own broker stands in between. "Gets nothing" means two things, both asserted: the answer is a refusal
that proves nothing started, and the emulated service saw no request.
"""

from __future__ import annotations

from typing import Any

import pytest

from harness.emulator.seed import FOREIGN_ID, LIGHTHOUSE_ID, SOURDOUGH_ID, UNLISTED_ID
from tests.e2e.raw_broker import RawBroker, open_raw_broker

pytestmark = pytest.mark.browser

OPTIONS = [2, None, None, [1, None, None, None, None, None, None, None, None, None, [1]]]
LIGHTHOUSE_SOURCE = "50a2ce00-0001-4a00-8b00-000000000001"
UNLISTED_SOURCE = "50a2ce00-0006-4a00-8b00-000000000001"
UNKNOWN_CONVERSATION = "c0ffee00-0000-4000-8000-00000000dead"


def read_notebook(notebook: str) -> dict[str, Any]:
    """The parameters of a well-formed rLM1Ne."""
    return {"rpc": "rLM1Ne", "params": [notebook, None, OPTIONS, None, 0]}


def ask(notebook: str, sources: list[str], conversation: str | None = None) -> dict[str, Any]:
    """The parameters of a well-formed question."""
    scope = [[[source]] for source in sources]
    return {"params": [scope, "What is it?", None, [2, None, [1], [1]], conversation, None, None, notebook, 1]}


@pytest.fixture
async def broker(chain: Any, control: Any) -> Any:
    """A broker that has read the lighthouse notebook, so that its sources are known to the extension."""
    async with open_raw_broker(chain["socket"]) as raw:
        got = await raw.call("rpc", read_notebook(LIGHTHOUSE_ID), notebook=LIGHTHOUSE_ID)
        assert got["ok"], got
        control.clear_requests()
        yield raw


async def assert_refused(
    raw: RawBroker, control: Any, code: str, op: str, params: Any, **changes: Any
) -> dict[str, Any]:
    """Send a forged call; it must be refused with proof, and the service must have seen nothing."""
    got = await raw.call(op, params, **changes)
    assert got["ok"] is False, got
    assert got["error"]["code"] == code, got
    assert got["error"]["started"] is False, got
    assert control.requests() == []
    assert raw.chunks.get(got["id"], []) == []
    return got["error"]


async def test_a_foreign_notebook_is_refused_by_the_extensions_own_allowlist(broker: RawBroker, control: Any) -> None:
    for notebook in (UNLISTED_ID, FOREIGN_ID):
        error = await assert_refused(
            broker, control, "ALLOWLIST_DENIED", "rpc", read_notebook(notebook), notebook=notebook
        )
        assert error["detail"]["side"] == "extension"


async def test_a_foreign_notebook_in_the_parameters_under_an_allowed_path_is_refused(
    broker: RawBroker, control: Any
) -> None:
    got = await broker.call("rpc", read_notebook(UNLISTED_ID), notebook=LIGHTHOUSE_ID)
    assert got["ok"] is False
    assert got["error"]["code"] in {"ALLOWLIST_DENIED", "INVALID_ARGUMENT"}
    assert got["error"]["started"] is False
    assert control.requests() == []


async def test_a_foreign_source_is_refused_although_the_notebook_is_allowed(broker: RawBroker, control: Any) -> None:
    params = {"rpc": "hizoJc", "params": [[UNLISTED_SOURCE], [2], [2]]}
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "rpc", params, notebook=LIGHTHOUSE_ID)


async def test_a_source_of_another_allowed_notebook_is_refused_under_this_path(broker: RawBroker, control: Any) -> None:
    params = {"rpc": "hizoJc", "params": [[LIGHTHOUSE_SOURCE], [2], [2]]}
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "rpc", params, notebook=SOURDOUGH_ID)


async def test_a_question_over_a_foreign_source_is_refused(broker: RawBroker, control: Any) -> None:
    params = ask(LIGHTHOUSE_ID, [LIGHTHOUSE_SOURCE, UNLISTED_SOURCE])
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "stream", params, notebook=LIGHTHOUSE_ID)


async def test_a_foreign_conversation_can_neither_be_read_nor_continued(broker: RawBroker, control: Any) -> None:
    history = {"rpc": "khqZz", "params": [OPTIONS, None, None, UNKNOWN_CONVERSATION, 20]}
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "rpc", history, notebook=LIGHTHOUSE_ID)
    question = ask(LIGHTHOUSE_ID, [LIGHTHOUSE_SOURCE], UNKNOWN_CONVERSATION)
    await assert_refused(broker, control, "ALLOWLIST_DENIED", "stream", question, notebook=LIGHTHOUSE_ID)


async def test_the_persons_own_chat_can_be_read_but_never_continued(broker: RawBroker, control: Any) -> None:
    """ADR-035: the worker mints conversations; one that it did not mint is the person's."""
    first = await broker.call("stream", ask(LIGHTHOUSE_ID, [LIGHTHOUSE_SOURCE]), notebook=LIGHTHOUSE_ID)
    assert first["ok"], first
    listed = await broker.call(
        "rpc", {"rpc": "hPTbtc", "params": [OPTIONS, None, LIGHTHOUSE_ID, 20]}, notebook=LIGHTHOUSE_ID
    )
    assert listed["ok"], listed
    control.clear_requests()
    minted = first["value"]["conversation"]
    again = await broker.call("stream", ask(LIGHTHOUSE_ID, [LIGHTHOUSE_SOURCE], minted), notebook=LIGHTHOUSE_ID)
    assert again["ok"], again
    assert again["value"]["conversation"] == minted
    control.clear_requests()
    await assert_refused(
        broker, control, "ALLOWLIST_DENIED", "stream", ask(SOURDOUGH_ID, [], minted), notebook=SOURDOUGH_ID
    )


async def test_another_account_is_refused(broker: RawBroker, control: Any) -> None:
    error = await assert_refused(
        broker,
        control,
        "ACCOUNT_MISMATCH",
        "rpc",
        read_notebook(LIGHTHOUSE_ID),
        notebook=LIGHTHOUSE_ID,
        account="grace@example.com",
    )
    assert "grace@example.com" not in str(error)
    assert "ada@example.com" not in str(error)


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("rpc", {"rpc": "tGMBJ", "params": [[[LIGHTHOUSE_SOURCE]]]}),
        ("rpc", {"rpc": "WWINqb", "params": [[LIGHTHOUSE_ID], [2]]}),
        ("rpc", {"rpc": "rLM1Ne", "params": [LIGHTHOUSE_ID, None, OPTIONS, None, 0, [[UNLISTED_ID]]]}),
        ("rpc", {"rpc": "rLM1Ne", "params": [LIGHTHOUSE_ID, [UNLISTED_ID], OPTIONS, None, 0]}),
        ("rpc", {"rpc": "hizoJc", "params": [[LIGHTHOUSE_SOURCE, UNLISTED_SOURCE], [2], [2]]}),
        ("rpc", {"rpc": "wXbhsf", "params": [None, 1, None, OPTIONS, None, [[None, None, []], [[]], [None, []]]]}),
        ("rpc", {"rpc": "rLM1Ne"}),
        ("eval", {"code": "document.cookie"}),
        ("fetch", {"url": "https://accounts.google.com/"}),
        ("__proto__", {}),
        ("constructor", {}),
    ],
)
async def test_what_the_closed_table_does_not_hold_is_refused(
    broker: RawBroker, control: Any, op: str, params: Any
) -> None:
    got = await broker.call(op, params, notebook=LIGHTHOUSE_ID)
    assert got["ok"] is False, got
    assert got["error"]["code"] in {"INVALID_ARGUMENT", "ALLOWLIST_DENIED"}, got
    assert got["error"]["started"] is False
    assert control.requests() == []


async def test_the_list_of_notebooks_leaves_the_page_without_those_that_are_not_allowed(broker: RawBroker) -> None:
    got = await broker.call("rpc", {"rpc": "wXbhsf", "params": [None, 1, None, OPTIONS]})
    assert got["ok"], got
    body = got["value"]["body"]
    assert LIGHTHOUSE_ID in body
    for hidden in (UNLISTED_ID, "Ledger", "Harbour festival", UNLISTED_SOURCE):
        assert hidden not in body


async def test_a_call_that_arrives_too_late_sends_nothing(broker: RawBroker, control: Any) -> None:
    await assert_refused(
        broker, control, "TIMEOUT", "rpc", read_notebook(LIGHTHOUSE_ID), notebook=LIGHTHOUSE_ID, not_after_ms=1
    )


async def test_a_frame_cannot_speak_for_another_connection(chain: Any, control: Any, broker: RawBroker) -> None:
    """The host sets `conn` itself; a broker that names another one speaks for itself all the same."""
    async with open_raw_broker(chain["socket"]) as other:
        frame = other.call_frame("rpc", read_notebook(UNLISTED_ID), notebook=UNLISTED_ID) | {"conn": 1}
        await other.send(frame)
        try:
            got = await other.receive()
        except EOFError:
            got = {"type": "error"}
        assert got["type"] in {"result", "error"}
        still = await broker.call("status", {})
        assert still["ok"], still
    assert control.requests() == []
