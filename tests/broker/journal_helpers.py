"""Several brokers on one journal file, any of which can be dead."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from attrs import define, field

from broker.journal_rows import Found, MutationRecord
from broker.journal_store import JournalStore
from tests.broker.mutation_helpers import request


@define
class Brokers:
    """Opens the file for one owner after another; `dead` says whose process has ended."""

    path: Path
    dead: set[str] = field(factory=set[str])
    opened: ExitStack = field(factory=ExitStack)

    def open(self, owner: str) -> JournalStore:
        store = JournalStore(self.path, owner, lambda other: other not in self.dead)
        self.opened.callback(store.close)
        return store


def begin(store: JournalStore, key: str = "k", **other: str) -> int:
    begun = store.begin(request(key, **other))
    assert begun.found is Found.OURS
    return begun.record.id


def row_of(store: JournalStore, row: int) -> MutationRecord:
    record = store.maybe_record(row)
    assert record is not None
    return record
