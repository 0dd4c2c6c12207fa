"""A row of the journal as JSON, for scripts and for a report to us. Pure.

Left out are the lists from before sending, which are long and say nothing to people, and the handle of an upload, which
the browser takes for the upload's address.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, cast

from broker.journal_rows import Json, MutationRecord
from broker.journal_states import State
from broker.scrubber import scrub_content, scrub_json

NOT_FOR_PEOPLE: Final = frozenset({"before", "upload"})


def as_dict(record: MutationRecord) -> Json:
    """Return the row with its steps; what is not known is null."""
    row: Json = {
        "id": record.id,
        "state": str(record.state),
        "tool": record.tool,
        "idempotency_key": record.key,
        "account": record.account,
        "notebook_id": record.notebook_id,
        "created_at": moment(record.created_at_ms).isoformat(),
        "updated_at": moment(record.updated_at_ms).isoformat(),
        "trace_id": maybe_trace_id(record),
        "steps": [
            {
                "name": step.name,
                "state": str(step.state),
                **{name: value for name, value in step.facts.items() if name not in NOT_FOR_PEOPLE},
            }
            for step in record.steps
        ],
        "remote_ids": sorted(record.claims),
        "result": record.result,
        "error": record.error,
    }
    # The broker scrubs what it stores; the key is the agent's own text.
    return cast("Json", scrub_json(row, scrub_content))


def moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def maybe_trace_id(record: MutationRecord) -> str | None:
    """Return the id under which the logs tell of the call that began the write."""
    parts = record.traceparent.split("-")
    return parts[1] if len(parts) == 4 else None


def what_is_known(record: MutationRecord) -> str:
    """Return one line: what came of the write, or how far it got."""
    if record.result is not None:
        return " ".join(str(value) for value in record.result.values() if isinstance(value, str))
    if record.error is not None:
        return f"{record.error.get('code')}: {record.error.get('message')}"
    if record.state is State.PREPARED:
        return "nothing was sent"
    return ", ".join(f"{step.name} {step.state}" for step in record.steps)


def counts(records: Iterable[MutationRecord]) -> dict[State, int]:
    """Return how many rows are in each state that any is in."""
    seen: dict[State, int] = {}
    for record in records:
        seen[record.state] = seen.get(record.state, 0) + 1
    return seen
