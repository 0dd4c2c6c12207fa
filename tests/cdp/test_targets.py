"""Targets of a real browser: found, waited for, attached, evaluated in, detached."""

import os

import pytest
import trio

from cdp.connection import open_connection
from cdp.errors import CallFailed, EvaluationFailed, SessionDetached
from cdp.finder import find_browser
from cdp.launcher import launch
from cdp.targets import attached, evaluate, get_targets, js_literal, wait_for_target

pytestmark = pytest.mark.browser
FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
PAGE = "data:text/html,<title>target</title>"


@pytest.fixture
async def connection(tmp_path):
    async with (
        launch(find_browser(), user_data_dir=tmp_path / "p", args=FLAGS, shutdown_timeout_s=0) as launched,
        open_connection(launched.cdp_url) as connection,
    ):
        yield connection


async def test_a_target_is_awaited_attached_evaluated_in_and_detached(connection):
    await connection.call("Target.createTarget", {"url": PAGE})
    with trio.fail_after(10):
        target = await wait_for_target(connection, lambda target: target.url == PAGE)
    # Discovery is on by now, so this finds it in the list and not by an announcement.
    assert (await wait_for_target(connection, lambda t: t.url == PAGE)).id == target.id
    async with attached(connection, target.id) as session:
        await _document_is_there(session)
        assert await evaluate(session, "Promise.resolve({a: [1, null]})") == {"a": [1, None]}
        assert await evaluate(session, js_literal('"\u2028</script>\ud800')) == '"\u2028</script>\ud800'
        assert await evaluate(session, "undefined") is None
        with pytest.raises(EvaluationFailed, match="TypeError: no"):
            await evaluate(session, "throw new TypeError('no')")
        with pytest.raises(EvaluationFailed, match="plain"):
            await evaluate(session, "Promise.reject('plain')")
    info = await connection.call("Target.getTargetInfo", {"targetId": target.id})
    assert info["targetInfo"]["attached"] is False


async def test_closing_a_target_fails_what_is_open_in_it(connection):
    await connection.call("Target.createTarget", {"url": PAGE})
    target = await wait_for_target(connection, lambda target: target.url == PAGE)
    async with attached(connection, target.id) as session, trio.open_nursery() as nursery:
        nursery.start_soon(_expect_detached, session)
        await _document_is_there(session)
        await connection.call("Target.closeTarget", {"targetId": target.id})
    with trio.fail_after(10):  # the list may name a closing target for a moment; each look is a round trip
        while target.id in {listed.id for listed in await get_targets(connection)}:
            pass


async def _document_is_there(session) -> None:
    # A target has its address before its document is there; each look is a round trip.
    with trio.fail_after(10):
        while True:
            try:
                if await evaluate(session, "document.title") == "target":
                    return
            except CallFailed:
                continue  # between two documents there is no context to evaluate in


async def _expect_detached(session) -> None:
    # A page's own farewell ("Execution context was destroyed") can come before the news that it is detached.
    with trio.fail_after(10), pytest.raises((SessionDetached, CallFailed)):
        await evaluate(session, "new Promise(() => {})")


async def test_a_cancelled_block_detaches_all_the_same(connection):
    await connection.call("Target.createTarget", {"url": PAGE})
    target = await wait_for_target(connection, lambda target: target.url == PAGE)
    with trio.CancelScope() as scope:
        async with attached(connection, target.id):
            scope.cancel()
            await trio.sleep_forever()
    info = await connection.call("Target.getTargetInfo", {"targetId": target.id})
    assert info["targetInfo"]["attached"] is False
