import pytest
import trio
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from broker.in_flight import Era, InFlight
from broker.jsonrpc_guard import BadFrame


def request(method: str, request_id: int | str, *, envelope: bool = False) -> JSONRPCRequest:
    params = {"_meta": {PROTOCOL_VERSION_META_KEY: "2026-07-28"}} if envelope else {}
    return JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params)


def cancelled(request_id: object) -> JSONRPCMessage:
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": request_id})


async def test_c002_a_probe_and_a_handshake_are_served_side_by_side():
    table = InFlight()
    assert table.route(request("server/discover", 1, envelope=True)) is Era.STATELESS
    assert table.route(request("initialize", 2)) is Era.HANDSHAKE
    assert table.route(request("tools/list", 3)) is Era.HANDSHAKE
    assert table.route(request("tools/list", 4, envelope=True)) is Era.STATELESS


async def test_initialize_is_a_handshake_even_with_an_envelope():
    assert InFlight().route(request("initialize", 1, envelope=True)) is Era.HANDSHAKE


async def test_without_an_envelope_a_purely_stateless_client_is_answered_by_its_own_era():
    table = InFlight()
    table.route(request("tools/list", 1, envelope=True))
    assert table.route(request("ping", 2)) is Era.STATELESS


async def test_an_open_id_is_refused_and_free_again_after_its_answer():
    table = InFlight()
    table.route(request("ping", 7))
    with pytest.raises(BadFrame) as caught:
        table.route(request("ping", 7))
    assert caught.value.request_id == 7
    table.close(7)
    table.route(request("ping", 7))


async def test_c011_zero_and_its_text_are_two_ids():
    table = InFlight()
    table.route(request("ping", 0))
    table.route(request("ping", "0"))
    table.close(0)
    with pytest.raises(BadFrame):
        table.route(request("ping", "0"))


async def test_c005_a_cancel_reaches_the_era_of_its_request_and_frees_the_id():
    table = InFlight()
    table.route(request("initialize", 1))
    table.route(request("tools/call", 2, envelope=True))
    assert table.route(cancelled(2)) is Era.STATELESS
    table.route(request("tools/call", 2))


@pytest.mark.parametrize("named", [99, "never sent", None, True, 1.5, {}, "²"])
async def test_c005_a_cancel_for_nothing_changes_nothing(named: object):
    table = InFlight()
    table.route(request("tools/call", 2))
    before = repr(table)
    assert table.route(cancelled(named)) is Era.HANDSHAKE
    assert repr(table) == before


async def test_idle_means_nothing_is_open():
    table = InFlight()
    await table.wait_idle()
    table.route(request("ping", 1))
    table.route(request("ping", 2))
    table.close(1)
    with trio.move_on_after(0) as scope:
        await table.wait_idle()
    assert scope.cancelled_caught
    table.route(cancelled("2"))
    await table.wait_idle()
