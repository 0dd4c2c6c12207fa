"""The shell around the relay: one thread, one `poll`, Chrome's two descriptors, the listener and every broker.

Each round: wait; read from whatever is readable, once each, so that nobody is starved; hand the frames to the relay;
carry out its commands; write as much as the other sides take. `poll` and not `selectors`, because it reports the end
even of a descriptor from which nothing is wanted at the moment, and because a few dozen descriptors cost nothing.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from native_host.broker_socket import BrokerGone, BrokerSocket
from native_host.chrome_port import ChromePort, PortClosed
from native_host.commands import CallEnded, CloseBroker, Command, EndHost, ForgetUnsent, Note, ToBroker
from native_host.framing import BadFrame
from native_host.host_log import keep_short, log
from native_host.listener import Listener
from native_host.outbox import ChromeOutbox
from native_host.protocol import MAX_BROKER_QUEUE_BYTES
from native_host.relay import Relay
from native_host.stdio import ChromeDescriptors

MAX_UNSENT_BYTES: Final = 1024 * 1024
"""A broker with more than this on its way to Chrome is not read until Chrome has taken it."""

CLOSE_GRACE_S: Final = 1.0
"""How long an ending connection may take to read why it ends."""

MAX_BROKERS: Final = 64

POLL_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Loop:
    """One run of the host, from the first frame to the end of Chrome's port."""

    def __init__(self, chrome: ChromeDescriptors, listener: Listener, wakeup: int, log_file: Path) -> None:
        self._outbox = ChromeOutbox()
        self._chrome = ChromePort(chrome, self._outbox)
        self._listener = listener
        self._wakeup = wakeup
        self._log_file = log_file
        self._relay = Relay(os.getpid(), time.monotonic())
        self._brokers: dict[int, BrokerSocket] = {}
        self._end: str | None = None
        self._poll = select.poll()
        # Invariant: `_handlers` has exactly the descriptors that `_poll` watches; `_masks` what it wants of each.
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._masks: dict[int, int] = {}

    def run(self) -> str:
        """Relay until the host has to leave, and return why. All sockets are closed then, so brokers know at once."""
        self._watch(self._chrome.from_chrome, select.POLLIN, self._chrome_readable)
        self._watch(self._chrome.to_chrome, 0, self._chrome_writable)
        self._watch(self._wakeup, select.POLLIN, self._signalled)
        # Before any broker: `poll` reports in this order, so a descriptor that a broker frees in a round cannot come
        # back for a new broker in the same round and be given the old one's event.
        self._watch(self._listener.fileno(), select.POLLIN, self._broker_waits)
        while self._end is None:
            self._round()
        for broker in self._brokers.values():
            broker.close()
        return self._end

    def _round(self) -> None:
        for descriptor, mask in self._poll.poll(self._timeout_ms()):
            handler = self._handlers.get(descriptor)  # a handler before it may have closed this one
            if handler is not None:
                handler(mask)
        now_s = time.monotonic()
        if now_s >= self._relay.next_tick_s():
            for broker in self._brokers.values():
                if self._outbox.queued_bytes(broker.conn) > MAX_UNSENT_BYTES:
                    self._relay.broker_is_held_back(broker.conn)
            self._carry_out(self._relay.tick(now_s))
            keep_short(self._log_file)
        for broker in list(self._brokers.values()):
            self._flush_broker(broker, now_s)
        self._flush_chrome()
        # Last of all: what we want to read depends on what has just left.
        for broker in self._brokers.values():
            self._want(broker.fileno(), self._interest(broker))

    def _timeout_ms(self) -> float:
        due_s = self._relay.next_tick_s()
        for broker in self._brokers.values():
            if broker.close_at_s is not None:
                due_s = min(due_s, broker.close_at_s)
        return max(0.0, (due_s - time.monotonic()) * 1000 + 1)

    # -- Events ----------------------------------------------------------------------------------------------------

    def _chrome_readable(self, mask: int) -> None:
        try:
            self._chrome.read()
            while (payload := self._chrome.decoder.maybe_next_frame()) is not None:
                self._carry_out(self._relay.worker_frame_untrusted(payload, time.monotonic()))
        except PortClosed as error:
            self._end = str(error)
        except BadFrame as error:
            self._end = f"Chrome sent what is no frame: {error}"

    def _chrome_writable(self, mask: int) -> None:
        if mask & POLL_GONE:
            self._end = "Chrome does not read any more"

    def _signalled(self, mask: int) -> None:
        self._end = f"signal {os.read(self._wakeup, 1)[0]}"

    def _broker_waits(self, mask: int) -> None:
        connection = self._listener.maybe_accept()
        if connection is None:
            return
        if len(self._brokers) >= MAX_BROKERS:
            log(f"connection refused: {MAX_BROKERS} brokers are connected already")
            connection.close()
            return
        broker = BrokerSocket(self._relay.open_connection(time.monotonic()), connection)
        self._brokers[broker.conn] = broker
        self._watch(broker.fileno(), select.POLLIN, lambda mask: self._broker_ready(broker, mask))

    def _broker_ready(self, broker: BrokerSocket, mask: int) -> None:
        try:
            if mask & select.POLLIN and broker.read():
                self._read_frames(broker)
            elif mask & POLL_GONE:
                raise BrokerGone("the broker is gone")
        except BrokerGone as error:
            self._drop_broker(broker, str(error))
        except BadFrame as error:
            self._carry_out(self._relay.refuse_broker(broker.conn, str(error)))

    def _read_frames(self, broker: BrokerSocket) -> None:
        now_s = time.monotonic()
        while broker.close_at_s is None and (payload := broker.decoder.maybe_next_frame()) is not None:
            self._carry_out(self._relay.broker_frame_untrusted(broker.conn, payload, now_s))

    # -- Commands --------------------------------------------------------------------------------------------------

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, ToBroker):
                broker = self._brokers.get(command.conn)
                if broker is not None:
                    broker.put(command.payload)
            elif isinstance(command, ForgetUnsent):
                self._outbox.forget(command.conn)
            elif isinstance(command, CloseBroker):
                self._end_broker(command)
            elif isinstance(command, EndHost):
                self._end = command.reason
            elif isinstance(command, Note):
                log(command.text)
            elif isinstance(command, CallEnded):
                log(f"{command.op} ended", traceparent=command.traceparent, took_ms=round(command.took_ms, 3))
            else:
                self._outbox.put(command.conn, command.payload, command.message_id)

    def _end_broker(self, command: CloseBroker) -> None:
        broker = self._brokers.get(command.conn)
        if broker is not None and broker.close_at_s is None:
            log(f"connection {command.conn} ends: {command.reason}")
            broker.close_at_s = time.monotonic() + CLOSE_GRACE_S
            broker.close_reason = command.reason

    def _drop_broker(self, broker: BrokerSocket, reason: str) -> None:
        if self._brokers.pop(broker.conn, None) is None:
            return
        if not broker.close_reason:  # else the log has it already
            log(f"connection {broker.conn} is over: {reason}")
        self._unwatch(broker.fileno())
        broker.close()
        self._carry_out(self._relay.broker_closed(broker.conn, reason))

    # -- Writing, and what to wait for -----------------------------------------------------------------------------

    def _flush_broker(self, broker: BrokerSocket, now_s: float) -> None:
        if broker.has_more:
            try:
                self._relay.broker_took(broker.conn, broker.write())
            except BrokerGone as error:
                self._drop_broker(broker, str(error))
                return
        if broker.close_at_s is not None and (not broker.has_more or now_s >= broker.close_at_s):
            self._drop_broker(broker, broker.close_reason)

    def _interest(self, broker: BrokerSocket) -> int:
        is_held_back = (
            broker.close_at_s is not None
            or self._outbox.queued_bytes(broker.conn) > MAX_UNSENT_BYTES
            or self._relay.queued_bytes(broker.conn) > MAX_BROKER_QUEUE_BYTES
        )
        return (0 if is_held_back else select.POLLIN) | (select.POLLOUT if broker.has_more else 0)

    def _flush_chrome(self) -> None:
        if self._end is not None:
            return
        try:
            self._chrome.write()
        except PortClosed as error:
            self._end = str(error)
            return
        self._want(self._chrome.to_chrome, select.POLLOUT if self._chrome.has_more else 0)

    def _watch(self, descriptor: int, mask: int, handler: Callable[[int], None]) -> None:
        self._handlers[descriptor] = handler
        self._masks[descriptor] = mask
        self._poll.register(descriptor, mask)

    def _want(self, descriptor: int, mask: int) -> None:
        if self._masks[descriptor] != mask:
            self._masks[descriptor] = mask
            self._poll.modify(descriptor, mask)

    def _unwatch(self, descriptor: int) -> None:
        del self._handlers[descriptor]
        del self._masks[descriptor]
        self._poll.unregister(descriptor)
