"""`notebook-gateway serve` with one failpoint. For the kill matrix only: no product module imports this.

    python -P -m tests.reliability.broker_entry WHEN:WHAT:SUBJECT:NTH PIPE

At the point the process writes a line into the pipe and stops itself (SIGSTOP). It can be killed there, or goes on with
SIGCONT.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from tests.reliability.points import Stop

STATEMENTS = ("begin", "mark_sent", "prove_step", "confirm")
UPLOADS = ("upload_start", "upload_slice", "upload_query", "upload_finish")


class Failpoint:
    """Stops the process once, at the point it was made for."""

    def __init__(self, stop: Stop, pipe: str) -> None:
        self._stop = stop
        self._pipe = pipe
        self._seen = 0

    def passes(self, when: str, what: str, subject: str) -> None:
        """Called at every place where it could be."""
        if (when, what) != (self._stop.when, self._stop.what) or self._stop.subject not in ("", subject):
            return
        self._seen += 1
        if self._seen == self._stop.nth:
            with open(self._pipe, "w", encoding="utf-8") as pipe:  # a pipe, opened for one line
                pipe.write(f"{self._stop.name}\n")
            # To this very thread: a signal to the process may be taken by another one, while this one runs on a little.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def wrap_statement(cls: type, name: str, failpoint: Failpoint) -> None:
    """Put the failpoint around one statement of the journal."""
    original: Callable[..., Any] = getattr(cls, name)

    @wraps(original)
    def wrapped(store: object, first: object, *rest: object) -> object:
        step = str(rest[0]) if name in ("mark_sent", "prove_step") else ""
        failpoint.passes("before", name, step)
        result = original(store, first, *rest)
        failpoint.passes("after", name, step)
        return result

    setattr(cls, name, wrapped)


def wrap_request(cls: type, name: str, failpoint: Failpoint) -> None:
    """Put the failpoint after the answer to one kind of request."""
    original: Callable[..., Awaitable[Any]] = getattr(cls, name)

    @wraps(original)
    async def wrapped(companion: object, *args: object, **options: object) -> object:
        answer = await original(companion, *args, **options)
        failpoint.passes("after", "answer", str(args[0]) if name == "rpc" else name)
        return answer

    setattr(cls, name, wrapped)


def main() -> int:
    from broker.journal_store import JournalStore
    from broker.late_companion import LateCompanion
    from broker.serve import run

    failpoint = Failpoint(Stop.parse(sys.argv[1]), sys.argv[2])
    for name in STATEMENTS:
        wrap_statement(JournalStore, name, failpoint)
    for name in ("rpc", *UPLOADS):
        wrap_request(LateCompanion, name, failpoint)
    return run()


if __name__ == "__main__":
    sys.exit(main())
