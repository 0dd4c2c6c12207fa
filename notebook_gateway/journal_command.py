"""`notebook-gateway journal …`: what agents wrote, and the person's word on what stays unknown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click
import orjson

from broker.errors import GatewayError
from broker.journal_states import State
from native_host import paths
from notebook_gateway.console import console, fail

if TYPE_CHECKING:
    from broker.journal_rows import MutationRecord
    from broker.journal_store import JournalStore

BUSY_FOR_S: Final = 10.0
BUSY_PAUSE_S: Final = 0.05
OURS: Final = ""
"""The command never takes a write over, so it needs no name among the owners."""

Answer = TypeVar("Answer")
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


@click.group()
def journal() -> None:
    """Look at what agents wrote, and settle what stayed unknown."""


@journal.command(name="list")
@click.option("--state", type=click.Choice([str(state) for state in State]), help="Only rows in this state.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many, newest first.")
@as_json_option
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """Show writes, newest first."""
    with _reading() as store:
        wanted = State(state) if state else None
        records = [] if store is None else _patiently(lambda: store.records(wanted, limit))
    if as_json:
        from notebook_gateway.journal_report import as_dict

        click.echo(orjson.dumps([as_dict(record) for record in records]))
    else:
        from notebook_gateway.journal_view import show_list

        show_list(records)


@journal.command()
@click.argument("row_id", metavar="ID", type=int)
@as_json_option
def show(row_id: int, as_json: bool) -> None:
    """Show one write with its steps."""
    with _reading() as store:
        record = _require(store, row_id)
    if as_json:
        from notebook_gateway.journal_report import as_dict

        click.echo(orjson.dumps(as_dict(record)))
    else:
        from notebook_gateway.journal_view import show_one

        show_one(record)


@journal.command()
@click.argument("row_id", metavar="ID", type=int)
@click.option("--as", "verdict", type=click.Choice(["done", "not-done"]), required=True, help="What you found.")
@click.option("--remote-id", help="The id of the note or source it made, where the journal does not know it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def settle(row_id: int, verdict: str, remote_id: str | None, yes: bool) -> None:
    """Say for good whether an unknown write took effect. Look into the notebook first; this cannot be taken back."""
    from broker.journal_faults import ClaimTaken
    from broker.journal_states import WrongTransition
    from broker.settling import settled_as_done, settled_as_not_done

    if verdict == "not-done" and remote_id is not None:
        fail("--remote-id says what was made; it does not belong to --as not-done")
    with _reading() as store:
        record = _require(store, row_id)
        assert store is not None
        chosen = settled_as_done(record, remote_id) if verdict == "done" else settled_as_not_done(record)
        if not yes:
            _ask(record, verdict)
        try:
            settled = _patiently(lambda: store.settle(record.id, chosen.event, chosen.outcome, chosen.claim))
        except WrongTransition:
            fail(f"row {record.id} has changed meanwhile", f"Run: notebook-gateway journal show {record.id}")
        except ClaimTaken:
            fail(
                f"{chosen.claim} belongs to another write of this journal.",
                f"Run: notebook-gateway journal list --json, and look for it. Row {record.id} was not changed.",
            )
    console.print(f"Row {settled.id} is {settled.state} now.", highlight=False)


@journal.command()
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; without it standard output.")
def export(output: Path | None) -> None:
    """Write every row as one line of JSON, newest first. It holds titles and your address, but no secret."""
    from notebook_gateway.journal_report import as_dict

    with _reading() as store:
        records = [] if store is None else _patiently(lambda: store.records(limit=-1))
    lines = b"".join(orjson.dumps(as_dict(record)) + b"\n" for record in records)
    if output is None:
        sys.stdout.buffer.write(lines)
        return
    from broker.atomic_file import write_private_file

    try:
        write_private_file(output, lines)
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}")
    console.print(f"{len(records)} rows are in {output}.", highlight=False)


@contextmanager
def _reading() -> Generator[JournalStore | None]:
    """Open the journal; None while there is none, because looking must not make one. Errors end the command."""
    from broker.journal import open_store
    from broker.journal_faults import JournalBusy

    try:
        home = paths.home_folder()
        if not paths.journal_file(home).exists():
            yield None
            return
        store = _patiently(lambda: open_store(home, OURS))
        try:
            yield store
        finally:
            store.close()
    except GatewayError as error:
        fail(error.message, error.hint)
    except JournalBusy:
        fail(f"the journal stayed locked for {BUSY_FOR_S:g} s", "Try again in a moment; a broker is writing.")


def _patiently(statement: Callable[[], Answer]) -> Answer:
    """Run a statement until no broker holds the file. Raises: JournalBusy."""
    from broker.journal_faults import JournalBusy

    give_up_at = time.monotonic() + BUSY_FOR_S
    while True:
        try:
            return statement()
        except JournalBusy:
            if time.monotonic() >= give_up_at:
                raise
        time.sleep(BUSY_PAUSE_S)


def _require(store: JournalStore | None, row_id: int) -> MutationRecord:
    record = None if store is None else _patiently(lambda: store.maybe_record(row_id))
    if record is None:
        fail(f"the journal has no row {row_id}", "Run: notebook-gateway journal list")
    return record


def _ask(record: MutationRecord, verdict: str) -> None:
    from notebook_gateway.journal_view import show_one

    show_one(record)
    try:
        click.confirm(f"\nSettle row {record.id} as {verdict}, for good?", abort=True, err=True)
    except click.Abort:
        fail("nothing was changed", "Answer y, or give --yes in a script.")
