"""How the journal looks to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from broker.journal_rows import MutationRecord
from broker.journal_states import State
from notebook_gateway.console import console
from notebook_gateway.journal_report import as_dict, counts, maybe_trace_id, moment, what_is_known

STYLES: Final = {
    State.PREPARED: "dim",
    State.SENT: "yellow",
    State.CONFIRMED: "green",
    State.REJECTED: "",
    State.UNKNOWN: "bold red",
}
MEANINGS: Final = {
    State.PREPARED: "nothing has left this machine; the same key can still be used",
    State.SENT: "under way, or its process was killed; the same call again looks for it",
    State.CONFIRMED: "it took effect, once",
    State.REJECTED: "it had no effect; a new try needs a new key",
    State.UNKNOWN: "it may have taken effect; nothing is sent again on a guess",
}


def show_list(records: Sequence[MutationRecord]) -> None:
    """Print the rows as a table, and what to do about unknown ones."""
    if not records:
        console.print("The journal has no such rows.")
        return
    table = Table(show_header=True, show_edge=False)
    for name in ("id", "state", "changed (UTC)", "tool", "notebook"):
        table.add_column(name, no_wrap=True)
    table.add_column("what is known", ratio=1)
    for record in records:
        table.add_row(
            str(record.id),
            _state(record.state),
            f"{moment(record.updated_at_ms):%Y-%m-%d %H:%M:%S}",
            Text(record.tool),
            Text(record.notebook_id),
            Text(what_is_known(record)),
        )
    console.print(table)
    if counts(records).get(State.UNKNOWN):
        console.print(
            Text("\nUnknown rows: look into the notebook, then: notebook-gateway journal settle ID --as done|not-done"),
            soft_wrap=True,
        )


def show_one(record: MutationRecord) -> None:
    """Print one row with its steps."""
    row = as_dict(record)
    table = Table(show_header=False, show_edge=False, box=None)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    table.add_row("row", str(record.id))
    table.add_row("state", _state(record.state) + Text(f"  {MEANINGS[record.state]}", style="dim"))
    table.add_row("tool", Text(record.tool))
    table.add_row("key", Text(str(row["idempotency_key"])))
    table.add_row("account", Text(record.account))
    table.add_row("notebook", Text(record.notebook_id))
    table.add_row("asked for", f"{moment(record.created_at_ms):%Y-%m-%d %H:%M:%S} UTC")
    table.add_row("changed", f"{moment(record.updated_at_ms):%Y-%m-%d %H:%M:%S} UTC")
    table.add_row("trace id", Text(maybe_trace_id(record) or "–"))
    for step in record.steps:
        about = f"  {step.remote_id}" if step.remote_id else ""
        table.add_row("step", Text(f"{step.name} ") + _state(step.state) + Text(about))
    table.add_row("known", Text(what_is_known(record)))
    console.print(table)


def _state(state: State) -> Text:
    return Text(str(state), style=STYLES[state])
