"""Notes are written once and whole, against the emulator's own state (C-072 to C-074)."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import define, field

from broker.companion import RpcReply
from broker.errors import CompanionOffline, GatewayError, UpstreamRejected
from harness.emulator.seed import EMPTY_PLAN_ID
from tests.broker.session_helpers import Bench, Browser, open_bench

NOTE = {"title": "Tides", "content": "High water at *six*.", "idempotency_key": "k"}


@define(eq=False)
class LossyBrowser(Browser):
    """Loses the answers of some requests: RPC id → errors, one per request; None lets it pass."""

    before: dict[str, list[GatewayError | None]] = field(factory=dict[str, list[GatewayError | None]])
    """Raised instead of sending."""
    after: dict[str, list[GatewayError | None]] = field(factory=dict[str, list[GatewayError | None]])
    """Raised after the service has carried it out."""

    async def rpc(
        self, rpc_id: str, params: object, *, notebook: str | None, deadline_s: float, traceparent: str
    ) -> RpcReply:
        _raise_next(self.before, rpc_id)
        reply = await Browser.rpc(
            self, rpc_id, params, notebook=notebook, deadline_s=deadline_s, traceparent=traceparent
        )
        _raise_next(self.after, rpc_id)
        return reply


def _raise_next(errors: dict[str, list[GatewayError | None]], rpc_id: str) -> None:
    waiting = errors.get(rpc_id)
    error = waiting.pop(0) if waiting else None
    if error is not None:
        raise error


async def select(bench: Bench) -> None:
    await bench.result("select_notebook", {"notebook_id": EMPTY_PLAN_ID, "save_for_project": False})


def notes(bench: Bench) -> list[tuple[str, str]]:
    """Title and text of the live notes as the service has them."""
    notebook = bench.browser.state.notebook_for(EMPTY_PLAN_ID, bench.browser.account)
    return [(note.title, note.text) for note in notebook.notes if not note.deleted]


def lose(bench: Bench, **errors: dict[str, list[GatewayError | None]]) -> None:
    for when, by_rpc_id in errors.items():
        setattr(bench.browser, when, by_rpc_id)


def sent(bench: Bench, rpc_id: str) -> int:
    return bench.browser.calls.count(rpc_id)


async def test_a_note_is_created_filled_and_replayed(tmp_path: Path) -> None:
    async with open_bench(tmp_path, EMPTY_PLAN_ID) as bench:
        await select(bench)
        first = await bench.result("create_note", NOTE)
        again = await bench.result("create_note", NOTE)
        assert notes(bench) == [("Tides", "High water at *six*.")]
        assert first["status"] == "created"
        assert (first["replayed"], again["replayed"]) == (False, True)
        assert first["note_id"] == again["note_id"]
        assert sent(bench, "CYK0Xb") == sent(bench, "cYAfTb") == 1


@pytest.mark.parametrize(
    "lost",
    [
        CompanionOffline("The connection was reset."),
        UpstreamRejected("Status 13.", retryable=True),
        UpstreamRejected("HTTP 400", definite=True),
    ],
    ids=["reset", "status-13", "http-400"],
)
async def test_c073_when_the_text_does_not_arrive_the_repeat_finishes_the_same_note(
    tmp_path: Path, lost: GatewayError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.note_writing.LOOK_BACK_S", 0.05)
    async with open_bench(tmp_path, EMPTY_PLAN_ID, make_browser=LossyBrowser) as bench:
        await select(bench)
        lose(bench, before={"cYAfTb": [lost]})
        error = await bench.error("create_note", NOTE)
        assert error["code"] == "MUTATION_UNKNOWN"
        assert "text may be missing" in error["message"]
        assert notes(bench) == [("New Note", "")]
        result = await bench.result("create_note", NOTE)
        assert result["note_id"] == error["details"]["note_id"]
        assert notes(bench) == [("Tides", "High water at *six*.")]
        assert sent(bench, "CYK0Xb") == 1
