"""The answers of the ``batchexecute`` calls: RPC id -> handler, made from the state (wire reference §5, §6, §8.4).

Each handler checks its parameters exactly and returns the result in the wrapping that its call has on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from harness.emulator.model import Account, Turn
from harness.emulator.rows import notebook_row, source_row, timestamp, trim
from harness.emulator.state import Denied, ServiceState
from harness.emulator.wire_json import Json

INVALID_ARGUMENT: Final = 3
OPTIONS_OLD: Final[list[Json]] = [2]
OPTIONS_NEW: Final[list[Json]] = [2, None, None, [1, *[None] * 9, [1]]]
DEFAULT_TURNS: Final = 20

Handler: TypeAlias = Callable[[ServiceState, Account, list[Json]], Json]


def list_notebooks(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``wXbhsf [null,1,null,OPT, …]`` -> ``[[row, …]]``. The web app's extra slots are accepted and ignored."""
    _expect(len(params) >= 4 and params[:3] == [None, 1, None] and _is_options(params[3]))
    return [[notebook_row(notebook, account.email) for notebook in state.visible_notebooks(account.email)]]


def get_notebook(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``rLM1Ne [ID,null,OPT,null,0|1]`` -> ``[row]``. It does not move `last viewed`, so that lists stay in order."""
    _expect(len(params) in (5, 6) and params[1] is None and _is_options(params[2]) and params[3] is None)
    _expect(params[4] in (0, 1))
    return [notebook_row(state.notebook_for(_text(params[0]), account.email), account.email)]


def read_source(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``hizoJc [[ID],[2],[2]]`` -> ``[source row, null, null, [[elements]]]``."""
    _expect(len(params) == 3 and params[1:] == [[2], [2]])
    _, source = state.source_for(_only_text(params[0]), account.email)
    return [source_row(source, with_tokens=True), None, None, [[source.document.elements()]]]


def source_guide(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``tr032e [[[[ID]]]]`` -> ``[[[null,[summary],[[keyword, …]],[]]]]``."""
    _, source = state.source_for(_only_text(_only(_only(_only(params)))), account.email)
    return [[[None, [source.summary], [list(source.keywords)], []]]]


def list_conversations(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``hPTbtc [OPT or [],null,ID,20]`` -> ``[[[conversation ID]]]``: the newest only; ``[]`` when there is none."""
    _expect(len(params) == 4 and _is_options_or_empty(params[0]) and params[1] is None)
    _count(params[3])
    notebook = state.notebook_for(_text(params[2]), account.email)
    talk = state.latest_conversation(notebook.id, account.email)
    return [] if talk is None else [[[talk.id]]]


def list_turns(state: ServiceState, account: Account, params: list[Json]) -> Json:
    """``khqZz [OPT or [],null,null,conversation ID,limit,cursor?]`` -> ``[[turn, …], cursor?]``, newest first."""
    _expect(len(params) in (5, 6) and _is_options_or_empty(params[0]) and params[1:3] == [None, None])
    talk = state.conversation_for(_text(params[3]), account.email)
    limit = _count(params[4])
    start = _cursor(params[5]) if len(params) == 6 else 0
    newest_first = list(reversed(talk.turns))
    page: list[Json] = [_turn_row(turn) for turn in newest_first[start : start + limit]]
    more = start + limit < len(newest_first)
    return trim([page, f"turns:{start + limit}" if more else None])


RPCS: Final[dict[str, Handler]] = {
    "wXbhsf": list_notebooks,
    "rLM1Ne": get_notebook,
    "hizoJc": read_source,
    "tr032e": source_guide,
    "hPTbtc": list_conversations,
    "khqZz": list_turns,
}


def _turn_row(turn: Turn) -> Json:
    if turn.answer is None:
        return [turn.id, timestamp(turn.at), 1, turn.question]
    return [turn.id, timestamp(turn.at), 2, None, [turn.answer]]


def _expect(condition: bool) -> None:
    if not condition:
        raise Denied(INVALID_ARGUMENT)


def _is_options(value: Json) -> bool:
    return value in (OPTIONS_OLD, OPTIONS_NEW)


def _is_options_or_empty(value: Json) -> bool:
    return value == [] or _is_options(value)


def _text(value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise Denied(INVALID_ARGUMENT)
    return value


def _only(value: Json) -> Json:
    if not isinstance(value, list) or len(value) != 1:
        raise Denied(INVALID_ARGUMENT)
    return value[0]


def _only_text(value: Json) -> str:
    return _text(_only(value))


def _count(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 1000:
        raise Denied(INVALID_ARGUMENT)
    return value


def _cursor(value: Json) -> int:
    kind, _, number = _text(value).partition(":")
    _expect(kind == "turns" and number.isascii() and number.isdigit())
    return int(number)
