"""How one request of a write comes to be proven: by its answer, else by looking back; never by sending again.

Looking back can only confirm. The list from before sending is durable, so what stood there already is never mistaken
for ours (C-075). Absence proves nothing, because a write may land late.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from random import Random
from typing import Final, TypeVar, cast

import trio
from attrs import frozen

from broker.backoff import Backoff
from broker.errors import GatewayError, MutationUnknown
from broker.forgotten_ids import is_forgotten_id
from broker.journal_faults import ClaimTaken
from broker.journal_rows import Json
from broker.journal_states import State
from broker.mutations import Mutation, Refused

LOOK_BACK_S: Final = 6.0
"""How long a lost write is looked for at once. A repeat of the call looks again."""
LOOK_BACKOFF: Final = Backoff(base_s=0.5, cap_s=2.0)

Item = TypeVar("Item")
ReadList = Callable[[], Awaitable[Mapping[str, Item]]]
"""Reads what is in the notebook now, by id."""


async def create_once(
    mutation: Mutation,
    step: str,
    kind: str,
    read_list: ReadList[Item],
    send: Callable[[], Awaitable[str]],
    could_be_ours: Callable[[Item], bool],
) -> str:
    """Create one thing, or find what an earlier try created; return its id, claimed for this write.

    `could_be_ours` says whether a new thing's visible facts are those that we would have written.

    Raises:
        Refused: the service said no to this very request, or the executor did before it started.
        MutationUnknown: neither is proven.
        GatewayError: it provably never started for want of a browser, a tab or time; the same key may try again.
    """
    done = mutation.maybe_step(step)
    if done is not None and done.state is State.CONFIRMED:
        return done.remote_id
    async with mutation.turn_to_create(kind):
        doubles: list[str] = []
        if done is None:
            before = sorted(await read_list())
            await mutation.mark_sent(step, {"before": before})
            try:
                # Nothing else may stand here: whatever raises is judged as the answer to this very request.
                remote_id = await send()
            except GatewayError as error:
                await raise_if_without_effect(mutation, step, error)
                remote_id = await _look_back(mutation, step, read_list, could_be_ours, str(error.message))
            else:
                doubles = await _doubles(mutation, read_list, before, remote_id, could_be_ours)
        else:
            cause = "an earlier call was cut short after its request was sent"
            remote_id = await _look_back(mutation, step, read_list, could_be_ours, cause)
        await _claim(mutation, step, remote_id, doubles)
    return remote_id


def doubles_of(mutation: Mutation, step: str) -> list[str]:
    """Return the ids that may be doubles of what `step` created; they are told, and never touched."""
    record = mutation.maybe_step(step)
    return [] if record is None else [str(each) for each in cast("list[object]", record.facts.get("doubles") or [])]


async def _doubles(
    mutation: Mutation,
    read_list: ReadList[Item],
    before: list[str],
    remote_id: str,
    could_be_ours: Callable[[Item], bool],
) -> list[str]:
    """Look whether the request arrived twice although it was sent once (ADR-044).

    A browser repeats a request by itself when the connection it had reused ends without a byte; the answer is then that
    of the second. Best effort: the write is proven by its answer in any case.
    """
    try:
        items = await read_list()
    except GatewayError:
        return []
    return await _new_and_free(mutation, items, [*before, remote_id], could_be_ours)


async def raise_if_without_effect(mutation: Mutation, step: str, error: GatewayError) -> None:
    """Raise if `error`, which the request of the first step just met, proves that it had no effect; else return.

    Raises:
        Refused: the service or the executor said no.
        GatewayError: `error` itself, for want of a browser, a tab, time or the extension's memory: the key is as good
            as new (ADR-042).
    """
    if is_forgotten_id(error) or (not error.started and error.retryable):
        await mutation.take_back(step)
        raise error
    if error.definite or not error.started:
        raise Refused(error) from error


async def _claim(mutation: Mutation, step: str, remote_id: str, doubles: list[str]) -> None:
    facts: Json = {"remote_id": remote_id, "doubles": doubles} if doubles else {"remote_id": remote_id}
    try:
        await mutation.prove_step(step, facts, claim=remote_id)
    except ClaimTaken as error:
        raise MutationUnknown(
            f"{mutation.record.tool}: what was found belongs to another write of this journal.",
            details={"stage": step, "remote_id": remote_id},
        ) from error


@frozen
class Looked:
    """What looking came to. `trouble` is the end of a sentence: why the last look failed, or empty."""

    is_seen: bool
    trouble: str


async def look_until(look: Callable[[], Awaitable[bool]], rng: Random) -> Looked:
    """Look until `look` says yes, for at most `LOOK_BACK_S`. A look that fails is not the last one."""
    trouble = ""
    waiting = LOOK_BACKOFF
    with trio.move_on_after(LOOK_BACK_S):
        while True:
            try:
                if await look():
                    return Looked(is_seen=True, trouble="")
                trouble = ""
            except GatewayError as error:
                trouble = f"; looking back failed too: {error.message}"
            pause_s, waiting = waiting.next(rng)
            await trio.sleep(pause_s)
    return Looked(is_seen=False, trouble=trouble)


async def _look_back(
    mutation: Mutation, step: str, read_list: ReadList[Item], could_be_ours: Callable[[Item], bool], cause: str
) -> str:
    """Return the one new thing that must be ours.

    Raises:
        MutationUnknown: there is none, or more than one, or another unsettled write could have made it.
    """
    record = mutation.maybe_step(step)
    assert record is not None
    found: list[str] = []
    is_certain = False

    async def look() -> bool:
        """Tell whether looking further can bring nothing new: one that is ours for certain, or too many."""
        nonlocal found, is_certain
        found = await _new_and_free(mutation, await read_list(), record.before, could_be_ours)
        is_certain = len(found) == 1 and not await mutation.journal.rivals(mutation.record.id, step)
        return is_certain or len(found) > 1

    looked = await look_until(look, mutation.rng)
    if is_certain:
        return found[0]
    raise _unknown(mutation, step, cause, found, looked.trouble)


async def _new_and_free(
    mutation: Mutation, items: Mapping[str, Item], before: Collection[str], could_be_ours: Callable[[Item], bool]
) -> list[str]:
    """Return the ids that were not there before, look like ours, and are claimed by no write."""
    new = [key for key, item in items.items() if key not in before and could_be_ours(item)]
    taken = await mutation.journal.claimed_among(mutation.record.account, new)
    return [key for key in new if key not in taken]


def _unknown(mutation: Mutation, step: str, cause: str, found: list[str], trouble: str) -> MutationUnknown:
    if found:
        seen = f"{len(found)} new item(s) in the notebook could be it, and nothing tells whose they are"
    else:
        seen = f"it is not in the notebook after {LOOK_BACK_S:g} s, but may still arrive"
    return MutationUnknown(
        f"{mutation.record.tool}: {cause}; {seen}{trouble}.",
        hint="Repeat the call with the same idempotency key to look again; it never writes twice. If it stays unknown, "
        f"the person can settle it: `notebook-gateway journal show {mutation.record.id}`.",
        details={"stage": step, "candidates": found, "journal_id": mutation.record.id},
    )
