"""Are the sources of a question ready to be asked? Scoped to the sources it names (M-10, C-080).

The rule when it names none: all ready sources are asked, the others are left out and named in the result; a stuck
source elsewhere never blocks. Waiting polls with full jitter under a cap (ADR-006).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final

import trio
from attrs import frozen

from broker.backoff import Backoff
from broker.errors import NotFound, SourceNotReady
from broker.notebooks import Notebook, Source

PATIENCE_S: Final = 60.0
"""How long a question waits for a source that is still being processed."""
POLLING: Final = Backoff(base_s=2.0, cap_s=8.0)
"""At most about one look per second on average (C-078)."""

# Audio and video pass through the number that means failure for documents, while they are transcribed (C-079).
_FAILED_IS_NOT_FINAL: Final = frozenset({"audio_video"})


@frozen
class Scope:
    """What a question is asked of: these sources of that notebook. `left_out` are those not ready in an open scope."""

    notebook: Notebook
    sources: tuple[Source, ...]
    left_out: tuple[Source, ...] = ()


def maybe_scope(notebook: Notebook, source_ids: Sequence[str] | None) -> Scope | None:
    """Return the scope if it can be asked now, or None while it is worth waiting.

    Raises:
        NotFound: an id that the notebook does not have.
        SourceNotReady: a source that failed for good, or a notebook without any that is or may become ready.
    """
    if source_ids is None:
        return _maybe_open_scope(notebook)
    by_id = {source.id: source for source in notebook.sources}
    unknown = [source_id for source_id in source_ids if source_id not in by_id]
    if unknown:
        raise NotFound(
            f"The notebook has no source {unknown[0]}.",
            hint="Call list_sources and use ids from that list.",
            details={"source_ids": unknown},
        )
    wanted = tuple(by_id[source_id] for source_id in dict.fromkeys(source_ids))
    failed = [source for source in wanted if has_failed(source)]
    if failed:
        raise _not_ready("failed and cannot be asked", failed, retryable=False)
    return Scope(notebook, wanted) if all(source.state == "ready" for source in wanted) else None


def _maybe_open_scope(notebook: Notebook) -> Scope | None:
    ready = tuple(source for source in notebook.sources if source.state == "ready")
    others = tuple(source for source in notebook.sources if source.state != "ready")
    if ready:
        return Scope(notebook, ready, others)
    if not notebook.sources:
        raise SourceNotReady(
            "The notebook has no sources to ask.", hint="Ask the person to add a source.", retryable=False
        )
    if all(has_failed(source) for source in others):
        raise _not_ready("failed, and the notebook has no other", list(others), retryable=False)
    return None


async def wait_for_scope(
    read_notebook: Callable[[], Awaitable[Notebook]],
    source_ids: Sequence[str] | None,
    *,
    rng: Random,
    patience_s: float = PATIENCE_S,
) -> Scope:
    """Read the notebook until its targeted sources are ready.

    Raises: as `maybe_scope`; SourceNotReady naming what was still not ready after `patience_s`; what reading raises.
    """
    notebook = await read_notebook()
    polling = POLLING
    with trio.move_on_after(patience_s):
        while (scope := maybe_scope(notebook, source_ids)) is None:
            pause_s, polling = polling.next(rng)
            await trio.sleep(pause_s)
            notebook = await read_notebook()
        return scope
    wanted = notebook.sources if source_ids is None else [each for each in notebook.sources if each.id in source_ids]
    waiting = [source for source in wanted if source.state != "ready"]
    raise _not_ready(f"still not ready after {patience_s:g} s", waiting, retryable=True)


def has_failed(source: Source) -> bool:
    """Return whether a source failed for good."""
    return source.state == "failed" and source.kind not in _FAILED_IS_NOT_FINAL


def _not_ready(what: str, sources: Sequence[Source], *, retryable: bool) -> SourceNotReady:
    named = ", ".join(f"{source.title or 'untitled'} ({source.id}): {source.state}" for source in sources[:5])
    return SourceNotReady(
        f"Source {what}: {named}.",
        retryable=retryable,
        details={"sources": [{"id": source.id, "state": source.state} for source in sources[:50]]},
        started=False,
    )
