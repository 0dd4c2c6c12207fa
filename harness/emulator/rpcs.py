"""The answers of the calls that only read: RPC id -> handler, made from the state (wire reference §5, §6, §8.4, §9).

Each handler checks its parameters exactly and returns the result in the wrapping that its call has on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from harness.emulator.ingestion import look_at
from harness.emulator.model import Account, Turn
from harness.emulator.params import (
    count,
    cursor,
    expect,
    is_options,
    is_options_or_empty,
    only,
    only_text,
    text,
)
from harness.emulator.rows import note_row, notebook_row, source_row, timestamp, trim
from harness.emulator.state import ServiceState, now
from harness.emulator.wire_json import Json

Reader: TypeAlias = Callable[[ServiceState, Account, list[Json]], Json]


def list_notebooks(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``wXbhsf [null,1,null,OPT, …]`` -> ``[[row, …]]``. The web app's extra slots are accepted and ignored."""
    expect(len(params) >= 4 and params[:3] == [None, 1, None] and is_options(params[3]))
    return [[notebook_row(notebook, account.email) for notebook in state.visible_notebooks(account.email)]]


def get_notebook(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``rLM1Ne [ID,null,OPT,null,0|1]`` -> ``[row]``. It does not move `last viewed`, so that lists stay in order."""
    expect(len(params) in (5, 6) and params[1] is None and is_options(params[2]) and params[3] is None)
    expect(params[4] in (0, 1))
    notebook = state.notebook_for(text(params[0]), account.email)
    look_at(state, notebook)
    return [notebook_row(notebook, account.email)]


def read_source(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``hizoJc [[ID],[2],[2]]`` -> ``[source row, null, null, [[elements]]]``."""
    expect(len(params) == 3 and params[1:] == [[2], [2]])
    _, source = state.source_for(only_text(params[0]), account.email)
    return [source_row(source, with_tokens=True), None, None, [[source.document.elements()]]]


def source_guide(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``tr032e [[[[ID]]]]`` -> ``[[[null,[summary],[[keyword, …]],[]]]]``."""
    _, source = state.source_for(only_text(only(only(only(params)))), account.email)
    return [[[None, [source.summary], [list(source.keywords)], []]]]


def list_conversations(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``hPTbtc [OPT or [],null,ID,20]`` -> ``[[[conversation ID]]]``: the newest only; ``[]`` when there is none."""
    expect(len(params) == 4 and is_options_or_empty(params[0]) and params[1] is None)
    count(params[3])
    notebook = state.notebook_for(text(params[2]), account.email)
    talk = state.latest_conversation(notebook.id, account.email)
    return [] if talk is None else [[[talk.id]]]


def list_turns(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``khqZz [OPT or [],null,null,conversation ID,limit,cursor?]`` -> ``[[turn, …], cursor?]``, newest first."""
    expect(len(params) in (5, 6) and is_options_or_empty(params[0]) and params[1:3] == [None, None])
    talk = state.conversation_for(text(params[3]), account.email)
    limit = count(params[4])
    start = cursor(params[5]) if len(params) == 6 else 0
    newest_first = list(reversed(talk.turns))
    page: list[Json] = [_turn_row(turn) for turn in newest_first[start : start + limit]]
    more = start + limit < len(newest_first)
    return trim([page, f"turns:{start + limit}" if more else None])


def list_notes(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``cFji9 [ID]`` or ``[ID,null,TS or null,OPT]`` -> ``[[row, …] or null, now]``; null if there never was one."""
    expect(len(params) in (1, 4))
    if len(params) == 4:
        expect(params[1] is None and isinstance(params[2], list | None) and is_options(params[3]))
    notebook = state.notebook_for(text(params[0]), account.email)
    rows: list[Json] = [note_row(note) for note in notebook.notes]
    return [rows or None, timestamp(now())]


READS: Final[dict[str, Reader]] = {
    "wXbhsf": list_notebooks,
    "rLM1Ne": get_notebook,
    "hizoJc": read_source,
    "tr032e": source_guide,
    "hPTbtc": list_conversations,
    "khqZz": list_turns,
    "cFji9": list_notes,
}


def _turn_row(turn: Turn) -> Json:
    if turn.answer is None:
        return [turn.id, timestamp(turn.at), 1, turn.question]
    return [turn.id, timestamp(turn.at), 2, None, [turn.answer]]
