"""A client of the emulator's control endpoint, for tests: faults, state, what arrived, reset.

Standard library only and blocking: each method is one short request on loopback. From Trio call it as it is where a
test may wait a millisecond; beside `open_chain`, whose emulator lives in the same Trio run, only through
`trio.to_thread.run_sync`.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import urlsplit

REQUEST_TIMEOUT_S: Final = 10.0

JsonObject = dict[str, Any]


class ControlRefused(Exception):
    """The endpoint answered with an error; the text is its own."""


class Control:
    """Made from `upstream` of the chain's JSON line: ``Control(up["control_url"], up["control_token"])``."""

    def __init__(self, control_url: str, control_token: str) -> None:
        split = urlsplit(control_url)
        self._host, self._port = split.hostname or "127.0.0.1", split.port
        self._token = control_token

    def add_fault(self, fault: JsonObject) -> JsonObject:
        """Add one fault: ``{"rpc": "<RPC id>" | "stream" | "page", "fault": …, "times": n | None, …}``."""
        return self._ask("POST", "/faults", fault)

    def clear_faults(self) -> None:
        """Forget all faults."""
        self._ask("DELETE", "/faults")

    def state(self) -> JsonObject:
        """Return accounts, notebooks, sources and notes as they are now."""
        return self._ask("GET", "/state")

    def change_state(self, changes: JsonObject) -> JsonObject:
        """Change the state, by the table in `harness.emulator.state_changes`."""
        return self._ask("POST", "/state", changes)

    def uploads(self) -> list[JsonObject]:
        """Return every upload session: source, status, bytes received and their SHA-256; never its address."""
        return self._ask("GET", "/uploads")["uploads"]

    def requests(self) -> list[JsonObject]:
        """Return what arrived since the last `clear_requests` or `reset`, in order; tokens are masked."""
        return self._ask("GET", "/requests")["requests"]

    def clear_requests(self) -> None:
        """Forget what arrived."""
        self._ask("DELETE", "/requests")

    def reset(self) -> None:
        """Go back to the seed: no faults, no requests, everybody signed in again."""
        self._ask("POST", "/reset", {})

    def _ask(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        connection = HTTPConnection(self._host, self._port, timeout=REQUEST_TIMEOUT_S)
        try:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            answer: JsonObject = json.loads(response.read())
            if response.status >= 400:
                raise ControlRefused(str(answer.get("error", response.status)))
            return answer
        finally:
            connection.close()
