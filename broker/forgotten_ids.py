"""When the extension has forgotten which notebook an id belongs to. Pure."""

from __future__ import annotations

from broker.errors import AllowlistDenied, GatewayError


def is_forgotten_id(error: GatewayError) -> bool:
    """Whether the extension refused an id only because it has lost its map of ids, and nothing was sent.

    It loses the map when it is reloaded or the browser restarts. Reading the notebook again, or for a conversation
    opening another, mends this.
    """
    return isinstance(error, AllowlistDenied) and not error.started and error.details.get("reason") == "unknown_id"
