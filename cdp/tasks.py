"""A nursery for background tasks of a resource: it ends with its block and does not change what the block raises."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background_nursery() -> AsyncGenerator[trio.Nursery]:
    """Yield a nursery whose tasks are cancelled when the block is left.

    A plain nursery inside an async context manager has two faults for its user: it wraps the user's own exception in a
    group, and its cancel absorbs a `trio.Cancelled` that belongs to an outer scope, so that code after the block runs
    with half its variables unset. Here the body's exception leaves as it is. A task that fails is a bug and leaves as
    an exception group.
    """
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:
                body_error = error
                raise
            finally:
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if body_error is None or any(error is not body_error for error in group.exceptions):
            raise
    if body_error is not None:
        raise body_error
