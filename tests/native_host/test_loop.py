"""The real host as a child process, with a fake Chrome on its pipes and fake brokers on its socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native_host.fakes import FakeChrome, call_frame


@pytest.fixture
def chrome(tmp_path: Path) -> Iterator[FakeChrome]:
    with FakeChrome(tmp_path) as chrome:
        chrome.wait_until_listening()
        chrome.ready()
        yield chrome


def test_a_call_goes_to_the_worker_and_its_result_comes_back(chrome: FakeChrome) -> None:
    broker, conn = chrome.connect_and_greet()
    with broker:
        broker.send(call_frame(7))
        call = chrome.receive_type("call")
        assert call == {"conn": conn, **call_frame(7)}
        chrome.send({"conn": conn, "type": "result", "id": 7, "ok": True, "value": {"body": "é😀"}})
        assert broker.receive() == {"type": "result", "id": 7, "ok": True, "value": {"body": "é😀"}}
