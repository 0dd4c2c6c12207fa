"""Turn whatever was raised into one error that may be shown. The last line before an agent or a client. Pure.

A foreign exception's text can hold anything, a secret included, so it goes to the log and never further.
"""

from __future__ import annotations

import logging
from typing import cast

from broker.errors import GatewayError, InternalError

log = logging.getLogger(__name__)


def as_gateway_error(error: Exception, during: str) -> GatewayError:
    """Return the error to show for `error`.

    Nurseries wrap what their tasks raise in groups; when a group holds errors of ours, the first is the answer.
    """
    ours = _first_of_ours(error)
    if ours is not None:
        return ours
    log.error("%s failed with %s", during, type(error).__name__, exc_info=error)
    return InternalError(f"{during} failed inside notebook-gateway ({type(error).__name__}).")


def _first_of_ours(error: BaseException) -> GatewayError | None:
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return next(filter(None, map(_first_of_ours, members)), None)
    return None
