"""What all parts of the running emulator share: the state, the fault queue, the request log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import define, field
from starlette.requests import Request

from harness.emulator.chats import seed_chats
from harness.emulator.faults import FaultQueue
from harness.emulator.model import Session
from harness.emulator.request_log import RequestLog
from harness.emulator.seed import World, default_world
from harness.emulator.state import ServiceState

SESSION_COOKIE: Final = "__Secure-1PSID"
"""HttpOnly and Secure, for all of .google.com: the shape of the real thing with a random value of our own."""


@define
class Service:
    state: ServiceState
    faults: FaultQueue = field(factory=FaultQueue)
    log: RequestLog = field(factory=RequestLog)
    _serial: int = 0

    @classmethod
    def start(cls, make_world: Callable[[], World] = default_world) -> Service:
        service = cls(ServiceState(make_world))
        seed_chats(service.state)
        return service

    def reset(self) -> None:
        """Go back to the seed; faults and the request log are emptied, browsers stay signed in."""
        self.state.reset()
        seed_chats(self.state)
        self.faults.waiting.clear()
        self.log.entries.clear()

    def next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def session(self, request: Request) -> Session | None:
        return self.state.sessions.get(request.cookies.get(SESSION_COOKIE, ""))
