"""Questions outlive the calls that ask them. One run per request key, in the broker's own nursery.

A client's cancel or time-out only detaches the caller. The same call again joins the run or gets its outcome, so the
service is asked once (ADR-015, C-005). A call never stays silent for longer than `ANSWER_WITHIN_S`: clients give up
after 60 s, and progress does not move that limit in most of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import trio
from attrs import field, frozen

from broker.errors import DeadlineExceeded, ErrorCode, GatewayError, InvalidArgument, RateLimited
from broker.faults import as_gateway_error

if TYPE_CHECKING:
    from collections.abc import Generator

ANSWER_WITHIN_S: Final = 45.0
UNATTENDED_S: Final = 120.0
"""How long a run goes on with nobody waiting for it."""
KEEP_FINISHED_S: Final = 15 * 60.0
MAX_RUNNING: Final = 8
MAX_FINISHED: Final = 32

# After these the service has taken the question: asking it again on the same key would ask twice. Every other failure
# means that the question was never asked or definitely refused, and once told, the key is free for another try.
SPENT: Final = frozenset(
    {
        ErrorCode.UNGROUNDED_RESPONSE,
        ErrorCode.STREAM_SEVERED,
        ErrorCode.TIMEOUT,
        ErrorCode.CANCELLED,
        ErrorCode.UPSTREAM_SCHEMA_DRIFT,
        ErrorCode.INTERNAL,
    }
)

Result = dict[str, object]
Work = Callable[[Callable[[str], None]], Awaitable[Result]]
"""Asks the question; calls its argument with the whole answer text so far, whenever that changes."""


@frozen
class Question:
    """What a request key is bound to."""

    notebook_id: str
    text: str = field(repr=False)
    source_ids: frozenset[str] | None


@frozen
class StillRunning:
    """The run goes on; the same call again collects it."""

    partial_text: str = field(repr=False)


class _Run:
    """One question being asked, or its outcome."""

    # Invariant: scope.deadline is infinite while somebody attends or the run is over.

    def __init__(self, question: Question) -> None:
        self.question = question
        self.partial_text = ""
        self.outcome: Result | GatewayError | None = None
        self.finished_at = 0.0
        self.scope = trio.CancelScope()
        self.changed = trio.Event()
        self._attendants = 0

    def __repr__(self) -> str:
        state = "running" if self.outcome is None else "finished"
        return f"<_Run {state}, {self._attendants} waiting>"

    def set_partial_text(self, text: str) -> None:
        self.partial_text = text
        self._announce()

    def finish(self, outcome: Result | GatewayError) -> None:
        self.outcome = outcome
        self.finished_at = trio.current_time()
        self._announce()

    @contextmanager
    def attended(self) -> Generator[None]:
        """While somebody is inside, the run is not ended for want of interest."""
        self._attendants += 1
        self.scope.deadline = float("inf")
        try:
            yield
        finally:
            self._attendants -= 1
            if not self._attendants and self.outcome is None:
                self.scope.deadline = trio.current_time() + UNATTENDED_S

    def _announce(self) -> None:
        self.changed.set()
        self.changed = trio.Event()


class QueryRuns:
    """All runs of this process by request key."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._runs: dict[str, _Run] = {}

    def __repr__(self) -> str:
        running = sum(run.outcome is None for run in self._runs.values())
        return f"<QueryRuns {running} running, {len(self._runs) - running} finished>"

    async def ask(
        self, request_key: str, question: Question, work: Work, on_text: Callable[[str], Awaitable[None]]
    ) -> Result | StillRunning:
        """Start or join the run of `request_key`, and wait for it for at most `ANSWER_WITHIN_S`.

        `on_text` is awaited with the answer so far whenever it has changed.

        Raises:
            InvalidArgument: the key belongs to another question.
            RateLimited: too many questions are running.
            GatewayError: what the run itself failed with.
        """
        run = self._runs.get(request_key)
        if run is not None and run.outcome is not None and self._is_stale(run):
            del self._runs[request_key]
            run = None
        if run is None:
            run = self._start(request_key, question, work)
        elif run.question != question:
            raise InvalidArgument(
                "request_key was used for another question, source_ids or notebook.",
                hint="Use a new request_key for a new question.",
            )
        with run.attended(), trio.move_on_after(ANSWER_WITHIN_S):
            while run.outcome is None:
                await run.changed.wait()
                if run.outcome is None:
                    await on_text(run.partial_text)
        return self._collect(request_key, run)

    def _start(self, request_key: str, question: Question, work: Work) -> _Run:
        self._make_room()
        run = self._runs[request_key] = _Run(question)
        self._nursery.start_soon(self._carry_out, run, work)
        return run

    async def _carry_out(self, run: _Run, work: Work) -> None:
        outcome: Result | GatewayError | None = None
        with run.scope:
            try:
                outcome = await work(run.set_partial_text)
            except Exception as error:  # noqa: BLE001  # nobody may be waiting; the outcome is kept for the collector
                outcome = as_gateway_error(error, "The question")
        if outcome is None:
            outcome = DeadlineExceeded(
                f"Nobody collected this answer for {UNATTENDED_S:g} s, so it was given up.",
                hint="Ask again with a new request_key.",
                retryable=False,
                details={"partial_text": run.partial_text},
            )
        run.finish(outcome)

    def _collect(self, request_key: str, run: _Run) -> Result | StillRunning:
        if run.outcome is None:
            return StillRunning(run.partial_text)
        if not isinstance(run.outcome, GatewayError):
            return run.outcome
        if run.outcome.code not in SPENT and self._runs.get(request_key) is run:
            del self._runs[request_key]
        raise run.outcome

    def _is_stale(self, run: _Run) -> bool:
        return run.finished_at + KEEP_FINISHED_S <= trio.current_time()

    def _make_room(self) -> None:
        """Forget what nobody came for in time, then the oldest outcomes beyond the limit."""
        finished = {key: run for key, run in self._runs.items() if run.outcome is not None}
        if len(self._runs) - len(finished) >= MAX_RUNNING:
            raise RateLimited(f"{MAX_RUNNING} questions are running in this session; wait for one of them.")
        oldest_first = sorted(finished.items(), key=lambda item: item[1].finished_at)
        surplus = len(oldest_first) - MAX_FINISHED + 1
        for index, (key, run) in enumerate(oldest_first):
            if index < surplus or self._is_stale(run):
                del self._runs[key]
