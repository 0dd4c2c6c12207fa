"""The parameters of every call we make, slot by slot (wire reference, 5, 6 and 8).

Pure. One function per call. The service's RPC ids are obfuscated names; each stands here once, beside its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import field, frozen

from broker.wire_json import clean_text

STREAM: Final = "GenerateFreeFormStreamed"


@frozen
class RpcRequest:
    """One call: what to send, and the notebook whose page it belongs to (`source-path`), or None for the front page."""

    rpc_id: str
    params: list[object] = field(repr=False)
    notebook: str | None


def request_options() -> list[object]:
    """Return the "who is asking" block of 2026; migrated accounts refuse the older ``[2]`` on some calls."""
    return [2, None, None, [1, *[None] * 9, [1]]]


def list_notebooks() -> RpcRequest:
    return RpcRequest("wXbhsf", [None, 1, None, request_options()], notebook=None)


def get_notebook(notebook_id: str) -> RpcRequest:
    return RpcRequest("rLM1Ne", [notebook_id, None, request_options(), None, 0], notebook_id)


def read_source_text(notebook_id: str, source_id: str) -> RpcRequest:
    return RpcRequest("hizoJc", [[source_id], [2], [2]], notebook_id)


def read_source_guide(notebook_id: str, source_id: str) -> RpcRequest:
    return RpcRequest("tr032e", [[[[source_id]]]], notebook_id)


def list_conversations(notebook_id: str) -> RpcRequest:
    return RpcRequest("hPTbtc", [request_options(), None, notebook_id, 20], notebook_id)


def list_turns(notebook_id: str, conversation_id: str, limit: int, cursor: str | None = None) -> RpcRequest:
    params: list[object] = [request_options(), None, None, conversation_id, limit]
    return RpcRequest("khqZz", params if cursor is None else [*params, cursor], notebook_id)


def ask_params(notebook_id: str, question: str, source_ids: Sequence[str], conversation: str | None) -> list[object]:
    """Build the nine slots of a question. `conversation` None lets the worker mint a fresh one.

    The question becomes valid Unicode, because it travels as UTF-8.
    """
    sources: list[object] = [[[source_id]] for source_id in source_ids]
    return [sources, clean_text(question), None, [2, None, [1], [1]], conversation, None, None, notebook_id, 1]
