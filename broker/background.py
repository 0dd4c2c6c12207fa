"""A nursery for helpers of a context manager, which does not change the errors that pass through it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def open_background_nursery() -> AsyncGenerator[trio.Nursery]:
    """Open a nursery whose tasks end with the context, and let the body's exception pass as it is.

    A plain nursery wraps every exception in a group, so a caller could not catch a `GatewayError` by its class. The
    tasks started here raise nothing in normal life, hence a group has one member beside cancellations.
    """
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        _, rest = group.split(trio.Cancelled)
        if rest is None or len(rest.exceptions) != 1:
            raise
        error = rest.exceptions[0]
        raise error from error.__cause__
