"""Our requests beside the recorded ones: the same slots, but for the options block that came later."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker import requests
from broker.requests import (
    DriveSpec,
    RpcRequest,
    SourceSpec,
    TextSpec,
    WebSpec,
    YouTubeSpec,
    ask_params,
    request_options,
)
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


def with_new_spec(params: list[Any], kind: int | None) -> list[Any]:
    """January's recordings have eight slots per text and address; three came later (wire reference, 6)."""
    changed = list(params)
    ((spec,), notebook_id, options, *rest) = changed
    assert (options, rest) == ([2], [None, None])
    assert len(spec) == 8
    return [[[*spec[:3], kind, *[None] * 6, 1]], notebook_id, OPTIONS]


def added_spec(params: list[Any]) -> tuple[SourceSpec, list[Any]]:
    """Read a recorded request back: what was added, and what we would send for it now."""
    spec = params[0][0]
    if spec[0] is not None:
        return DriveSpec(spec[0][0], spec[0][1], spec[0][3]), params
    if spec[1] is not None:
        return TextSpec(*spec[1]), with_new_spec(params, 2)
    return WebSpec(spec[2][0]), with_new_spec(params, None)


def test_added_sources_are_as_recorded_but_for_the_slots_that_came_later() -> None:
    kinds = set[type]()
    for request in recorded("izAoDd"):
        spec, params = added_spec(request["params"])
        kinds.add(type(spec))
        assert_like(requests.add_source(request["params"][1], spec), request, params)
    assert kinds == {TextSpec, WebSpec, DriveSpec}


def test_a_video_has_its_own_slot() -> None:
    request = requests.add_source("n", YouTubeSpec("https://youtu.be/x"))
    spec = [None, None, None, None, None, None, None, ["https://youtu.be/x"], None, None, 1]
    assert request.params == [[spec], "n", OPTIONS]


def test_a_registered_file_is_as_recorded_but_for_the_options() -> None:
    (request,) = recorded("o4cbdc")
    ((name,),), notebook_id, options, tail = request["params"]
    assert [*options, None, None, tail] == OPTIONS  # the same facts, one level lower now
    assert_like(requests.register_file(notebook_id, name), request, [[[name]], notebook_id, OPTIONS])


def test_note_requests_are_as_recorded() -> None:
    for request in recorded("CYK0Xb"):
        assert_like(requests.create_note(request["params"][0]), request, request["params"])
    for request in recorded("cYAfTb"):
        notebook_id, note_id, (((text, title, _, _),),) = request["params"]
        assert_like(requests.fill_note(notebook_id, note_id, title, text), request, request["params"])
    for request in recorded("cFji9") + recorded("cFji9", "later"):
        assert_like(requests.list_notes(request["params"][0]), request, request["params"])
    for request in recorded("AH0mwd"):
        notebook_id, _, (note_id,) = request["params"]
        assert_like(requests.delete_note(notebook_id, note_id), request, request["params"])


@pytest.mark.parametrize(
    "request_",
    [
        requests.add_source("n", TextSpec("half \ud83d", "pair \ude00")),
        requests.add_source("n", WebSpec("https://a.example/\ud83d")),
        requests.add_source("n", YouTubeSpec("https://youtu.be/\ud83d")),
        requests.add_source("n", DriveSpec("d", "application/pdf", "half \ud83d")),
        requests.register_file("n", "half \ud83d.txt"),
        requests.fill_note("n", "m", "half \ud83d", "pair \ude00"),
    ],
)
def test_what_is_written_always_travels_as_valid_unicode(request_: RpcRequest) -> None:
    json.dumps(request_.params, ensure_ascii=False).encode()


def test_texts_do_not_stand_in_a_repr() -> None:
    """A repr ends up in logs."""
    assert "secret" not in repr(TextSpec("title", "secret"))
    assert "secret" not in repr(requests.fill_note("n", "m", "t", "secret"))
