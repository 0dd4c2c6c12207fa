"""Our requests beside the recorded ones: the same slots, but for the options block that came later."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker import requests
from broker.requests import RpcRequest, ask_params, request_options
from tests.shared import recordings

OPTIONS = [2, None, None, [1, None, None, None, None, None, None, None, None, None, [1]]]


def with_new_options(params: list[Any], slot: int) -> list[Any]:
    """January's recordings send ``[2]`` or ``[]`` where the block stands now."""
    changed = list(params)
    assert changed[slot] in ([2], [], OPTIONS)
    changed[slot] = OPTIONS
    return changed


def recorded(rpc_id: str, folder: str = "") -> list[dict[str, Any]]:
    return [entry["request"] for entry in recordings(rpc_id, folder)]


def assert_like(request: RpcRequest, recorded_request: dict[str, Any], params: list[Any]) -> None:
    assert request.params == params
    assert request.rpc_id == recorded_request["query"]["rpcids"]
    path = "/" if request.notebook is None else f"/notebook/{request.notebook}"
    assert path == recorded_request["query"]["source-path"]


def test_list_notebooks_is_as_recorded() -> None:
    for request in recorded("wXbhsf"):
        assert_like(requests.list_notebooks(), request, with_new_options(request["params"], 3))


@pytest.mark.parametrize("request_", recorded("rLM1Ne") + recorded("rLM1Ne", "later"))
def test_get_notebook_is_as_recorded(request_: dict[str, Any]) -> None:
    notebook_id = request_["params"][0]
    assert_like(requests.get_notebook(notebook_id), request_, with_new_options(request_["params"], 2))


def test_source_requests_are_as_recorded() -> None:
    for request in recorded("hizoJc"):
        notebook = request["query"]["source-path"].removeprefix("/notebook/")
        ours = requests.read_source_text(notebook, request["params"][0][0])
        assert_like(ours, request, request["params"])
    for request in recorded("tr032e"):
        notebook = request["query"]["source-path"].removeprefix("/notebook/")
        ours = requests.read_source_guide(notebook, request["params"][0][0][0][0])
        assert_like(ours, request, request["params"])


def test_list_conversations_is_as_recorded() -> None:
    for request in recorded("hPTbtc"):
        notebook = request["params"][2]
        assert_like(requests.list_conversations(notebook), request, with_new_options(request["params"], 0))


def test_list_turns_appends_the_cursor_only_when_there_is_one() -> None:
    assert requests.list_turns("n", "c", 20).params == [OPTIONS, None, None, "c", 20]
    assert requests.list_turns("n", "c", 20, "next").params == [OPTIONS, None, None, "c", 20, "next"]


def test_a_question_is_as_recorded_but_for_the_slots_that_came_later() -> None:
    (request,) = recorded("GenerateFreeFormStreamed", "stream")
    params = request["params"]
    ours = ask_params("n", params[1], [source[0][0] for source in params[0]], params[4])
    assert ours[:3] == params[:3]
    assert ours[3] == [2, None, [1], [1]]
    assert ours[4] == params[4]
    assert ours[5:] == [None, None, "n", 1]


def test_a_question_always_travels_as_valid_unicode() -> None:
    params = ask_params("n", "half \ud83d pair", [], None)
    json.dumps(params, ensure_ascii=False).encode()


def test_each_request_has_its_own_options() -> None:
    assert request_options() == OPTIONS
    assert request_options() is not request_options()
