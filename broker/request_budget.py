"""How many requests a minute the person's account is asked for, by all brokers of this home folder together.

Two guards over one file per account in the run folder. The *budget* allows a number of requests in any 60 s and refuses
the calls beyond it, so that an agent in a loop does not get the person's account limited. The *back-off* follows a 429
of the service: no broker reads for that account until the time that the service named, or a jittered, growing one.

A call is refused before its first request only, and a write never, so that none stops half-way; all are counted, but
for the slices of an upload. The file is read and written where the caller stands: it holds a few kilobytes, and a lock
that is taken is never waited for in the kernel.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, cast

import orjson
import trio
from attrs import evolve, field, frozen

from broker.errors import GatewayError, RateLimited
from native_host.paths import ensure_private_folder, requests_file

if TYPE_CHECKING:
    from broker.calls import CallContext

log = logging.getLogger(__name__)

WINDOW_S: Final = 60.0
MAX_BACK_OFF_S: Final = 300.0
FORGIVEN_AFTER_S: Final = 120.0
"""So long after a back-off ended without another one, the next one starts small again."""
LOCK_PATIENCE_S: Final = 0.25
"""A broker that was stopped inside the few instructions under the lock must not stop the others."""
FIRST_BACK_OFF_S: Final = 5.0
"""Where the service names no time; doubled each time, and jittered."""


@frozen
class Spending:
    """What was asked for one account. Points in time are those of the machine's monotonic clock, in seconds."""

    sent_s: tuple[float, ...] = ()
    """When each request of the last minute left, oldest first."""
    blocked_until_s: float = 0.0
    back_offs: int = 0
    """How many back-offs came one after another."""

    def at(self, now_s: float) -> Spending:
        """Forget what no longer counts, and what a clock before the last boot wrote."""
        sent = tuple(sent_s for sent_s in self.sent_s if now_s - WINDOW_S < sent_s <= now_s)
        if self.blocked_until_s > now_s + MAX_BACK_OFF_S or self.blocked_until_s + FORGIVEN_AFTER_S < now_s:
            return Spending(sent)
        return evolve(self, sent_s=sent)

    def blocked_s(self, now_s: float) -> float:
        """Return how long the service wants to be left alone yet; 0.0 when it does not."""
        return max(0.0, self.blocked_until_s - now_s)

    def wait_s(self, now_s: float, per_minute: int) -> float:
        """Return how long until the budget has room; 0.0 when it has."""
        if not per_minute or len(self.sent_s) < per_minute:
            return 0.0
        return max(0.0, self.sent_s[-per_minute] + WINDOW_S - now_s)

    def with_request(self, now_s: float) -> Spending:
        return evolve(self, sent_s=(*self.sent_s, now_s))

    def with_back_off(self, now_s: float, wait_s: float) -> Spending:
        """Add a back-off. One that is under way is never shortened, and counts once however many answers say 429."""
        is_new = self.blocked_s(now_s) == 0.0
        until_s = max(self.blocked_until_s, now_s + min(wait_s, MAX_BACK_OFF_S))
        return evolve(self, blocked_until_s=until_s, back_offs=self.back_offs + is_new)


def decode_spending(data: bytes) -> Spending:
    """Return what the file says; nothing at all when it is empty or broken, which at worst allows one minute more."""
    try:
        fields = cast("dict[str, object]", orjson.loads(data))
        sent = tuple(float(cast("float", sent_s)) for sent_s in cast("list[object]", fields["sent_s"]))
        return Spending(sent, float(cast("float", fields["blocked_until_s"])), int(cast("int", fields["back_offs"])))
    except (ValueError, TypeError, KeyError):
        return Spending()


def encode_spending(spending: Spending) -> bytes:
    return orjson.dumps(
        {
            "sent_s": spending.sent_s,
            "blocked_until_s": spending.blocked_until_s,
            "back_offs": spending.back_offs,
        }
    )


def spending_file(home: Path, account: str) -> Path:
    """Return the file of `account`, whose address is not in its name."""
    digest = hashlib.sha256(account.casefold().encode()).hexdigest()[:16]
    return requests_file(home, digest)


def read_spending(home: Path, account: str) -> Spending:
    """Return what counts now, for `status`. A file that is not there or cannot be read says nothing was asked."""
    try:
        data = spending_file(home, account).read_bytes()
    except OSError:
        return Spending()
    return decode_spending(data).at(time.monotonic())


@frozen
class Limits:
    """Whose budget, and how many requests a minute; 0 is without a limit."""

    account: str = field(repr=False)
    per_minute: int


class RequestBudget:
    """One broker's hand on the file. `limits` reads the configuration; `clock` and `rng` are for tests."""

    def __init__(
        self,
        home: Path,
        limits: Callable[[], Awaitable[Limits]],
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        self._home = home
        self._limits = limits
        self._clock = clock
        self._rng = rng or Random()  # noqa: S311  # jitter needs no secret randomness

    def __repr__(self) -> str:
        return f"<RequestBudget {self._home}>"

    async def spend(self, ctx: CallContext, *, is_write: bool) -> None:
        """Count one request that is about to leave.

        Raises:
            RateLimited: the budget has no room for a call that has sent nothing yet; or the service is being left
                alone and this is a read. `details.retry_after_s` says how long. Nothing was sent, or counted.
        """
        limits = await self._limits()
        async with self._changing(limits) as change:
            now_s = self._clock()
            spending = change.before.at(now_s)
            change.after = spending
            blocked_s = spending.blocked_s(now_s)
            if blocked_s and not is_write:
                raise refusal("upstream", blocked_s, "The service asked this account to wait.")
            wait_s = 0.0 if is_write or ctx.admission.is_given else spending.wait_s(now_s, limits.per_minute)
            if wait_s:
                text = f"This account's budget of {limits.per_minute} requests a minute is used up."
                raise refusal("budget", wait_s, text)
            change.after = spending.with_request(now_s)
        ctx.admission.is_given = True

    async def note(self, error: GatewayError) -> None:
        """Begin a back-off for all brokers of the account if `error` is the service's HTTP 429.

        `error.details.retry_after_s` is set where the service named no time.
        """
        if error.details.get("http_status") != 429:
            return
        named_s = error.details.get("retry_after_s")
        async with self._changing(await self._limits()) as change:
            now_s = self._clock()
            spending = change.before.at(now_s)
            wait_s = float(named_s) if isinstance(named_s, int | float) else self._unnamed_wait_s(spending.back_offs)
            change.after = spending.with_back_off(now_s, wait_s)
            error.details["retry_after_s"] = _rounded(change.after.blocked_s(now_s))

    def _unnamed_wait_s(self, back_offs: int) -> float:
        # Never under half of the step, unlike full jitter: the service has just said that it is too much.
        step_s = min(FIRST_BACK_OFF_S * 2.0 ** min(back_offs, 16), MAX_BACK_OFF_S)
        return step_s * (0.5 + self._rng.random() / 2)

    def _changing(self, limits: Limits) -> _Change:
        return _Change(spending_file(self._home, limits.account))


class _Change:
    """Holds the file's lock from reading `before` to writing `after`, also when the body raises."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self.before = Spending()
        self.after = Spending()

    async def __aenter__(self) -> _Change:
        try:
            ensure_private_folder(self._path.parent)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            await self._lock()
            self.before = self.after = decode_spending(os.read(self._descriptor, 1 << 20))
        except OSError as error:  # a full or read-only disk: the account's service has limits of its own
            log.warning("the request budget is not kept: %s", error.strerror)
        except BaseException:
            self._close()
            raise
        return self

    async def _lock(self) -> None:
        with trio.move_on_after(LOCK_PATIENCE_S):
            while True:
                try:
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await trio.sleep(0.002)
                else:
                    return
        log.warning("the request budget is held by a process that does not go on; counting without its lock")

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._descriptor >= 0 and self.after != self.before:
                data = encode_spending(self.after)
                os.pwrite(self._descriptor, data, 0)
                os.ftruncate(self._descriptor, len(data))
        except OSError as error:
            log.warning("the request budget is not kept: %s", error.strerror)
        finally:
            self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def refusal(limit: str, wait_s: float, text: str) -> RateLimited:
    """Return the error for a request that is not sent. `limit` is ``budget`` or ``upstream``."""
    wait_s = _rounded(wait_s)
    return RateLimited(
        f"{text} There is room again in {wait_s:g} s.",
        hint=HINTS[limit],
        details={"limit": limit, "retry_after_s": wait_s},
        started=False,
    )


HINTS: Final = {
    "budget": "Wait that long, then call again. The person can set `requests_per_minute` in config.toml.",
    "upstream": "Wait that long, then call again; all agents of this account wait.",
}


def _rounded(wait_s: float) -> float:
    # Up to the next tenth, so that nobody comes back a moment too early.
    return -(-int(wait_s * 1000) // 100) / 10 or 0.1
