"""A Trio run that stands still between the rules of a state machine, so that what one rule begins another may end.

Guest mode lets the host decide when Trio works: here, only while a rule waits for something.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import trio
from trio.testing import MockClock

Answer = TypeVar("Answer")


class PausedTrio:
    """Made by a machine, ended by its teardown. Time is virtual, and passes only when every task waits for it."""

    def __init__(self) -> None:
        self._ticks: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._nursery: trio.Nursery | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._unwrap_end: Callable[[], object] | None = None
        """Set when the run has ended; raises what it ended with."""
        trio.lowlevel.start_guest_run(
            self._keep_running,
            run_sync_soon_threadsafe=self._ticks.put,
            done_callback=self._end,
            host_uses_signal_set_wakeup_fd=True,
            clock=MockClock(autojump_threshold=0),
        )
        self._tick_until(lambda: self._nursery is not None)

    @property
    def nursery(self) -> trio.Nursery:
        """Where tasks live that outlast a rule; start them from within `run`."""
        assert self._nursery is not None
        return self._nursery

    def run(self, work: Callable[..., Awaitable[Answer]], *args: object) -> Answer:
        """Carry `work` out, and let everything else go on meanwhile."""
        assert self._token is not None
        answers: list[Answer] = []
        errors: list[Exception] = []

        async def captured() -> None:
            try:
                answers.append(await work(*args))
            except Exception as error:  # noqa: BLE001  # raised in the rule
                errors.append(error)

        self._token.run_sync_soon(self.nursery.start_soon, captured)
        self._tick_until(lambda: bool(answers or errors))
        if errors:
            raise errors[0]
        return answers[0]

    def close(self) -> None:
        """Cancel what still runs, and return when nothing does."""
        assert self._token is not None
        self._token.run_sync_soon(self.nursery.cancel_scope.cancel)
        while self._unwrap_end is None:
            self._ticks.get()()
        self._unwrap_end()

    async def _keep_running(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    def _end(self, outcome: Any) -> None:
        self._unwrap_end = outcome.unwrap

    def _tick_until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            if self._unwrap_end is not None:
                self._unwrap_end()
                raise AssertionError("the Trio run ended under the machine")
            self._ticks.get()()
