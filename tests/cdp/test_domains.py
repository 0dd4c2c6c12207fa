"""Typed commands, results and events: what goes out, and how strictly what comes back is read."""

import importlib
import pkgutil

import attrs
import pytest

import cdp.domains
from cdp.connection import run_connection
from cdp.domains import browser, runtime, storage, target
from cdp.domains.protocol import Command, EventParams, decode_result_untrusted, decode_untrusted, encode_params
from cdp.errors import BadMessage
from tests.cdp.fakes import MemoryTransport

TARGET = {"targetId": "T", "type": "page", "title": "", "url": "about:blank", "attached": False}
MODULES = [module.name for module in pkgutil.iter_modules(cdp.domains.__path__) if module.name != "protocol"]


def test_what_is_none_is_left_out():
    assert encode_params(runtime.Evaluate("1", returnByValue=True)) == {"expression": "1", "returnByValue": True}
    assert encode_params(browser.GetVersion()) == {}


def test_values_inside_values_become_objects():
    cookie = storage.CookieParam("a", "b", domain="example.com")
    expected = {"cookies": [{"name": "a", "value": "b", "domain": "example.com"}]}
    assert encode_params(storage.SetCookies((cookie,))) == expected
    bounds = browser.SetWindowBounds(1, browser.Bounds(windowState="minimized"))
    assert encode_params(bounds) == {"windowId": 1, "bounds": {"windowState": "minimized"}}


def test_a_result_becomes_its_class_and_newer_fields_are_no_error():
    result = decode_result_untrusted(target.GetTargets(), {"targetInfos": [{**TARGET, "fromTheFuture": 1}]})
    assert result == target.GetTargetsResult((target.TargetInfo("T", "page", "", "about:blank", False),))


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, r"Target\.getTargets\.targetInfos: missing"),
        ({"targetInfos": {}}, "targetInfos: expected a list, saw dict"),
        ({"targetInfos": [TARGET, None]}, r"targetInfos\[1\]: expected an object, saw NoneType"),
        ({"targetInfos": [{**TARGET, "url": 7}]}, r"targetInfos\[0\]\.url: expected text, saw int"),
        ({"targetInfos": [{**TARGET, "attached": 1}]}, "attached: expected true or false, saw int"),
    ],
)
def test_another_shape_is_an_error_with_its_path(result, says):
    with pytest.raises(BadMessage, match=says):
        decode_result_untrusted(target.GetTargets(), result)


def test_true_is_no_integer_and_an_unknown_word_is_named():
    with pytest.raises(BadMessage, match="left: expected an integer, saw bool"):
        decode_untrusted(browser.Bounds, {"left": True}, "x")
    with pytest.raises(BadMessage, match="expected one of normal, minimized, maximized, fullscreen, saw 'folded'"):
        decode_untrusted(browser.Bounds, {"windowState": "folded"}, "x")


@pytest.mark.parametrize("name", MODULES)
def test_every_class_of_a_domain_bears_a_method_of_that_domain(name):
    module = importlib.import_module(f"cdp.domains.{name}")
    domain = name.replace("_", "")
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    for kind in own:
        assert attrs.has(kind)
        if issubclass(kind, Command | EventParams):
            assert kind.method.partition(".")[0].lower() == domain
            assert kind.method.partition(".")[2].lower() == kind.__name__.lower()


async def test_a_session_executes_commands_and_subscribes_to_events(nursery):
    transport = MemoryTransport()
    async with run_connection(transport) as connection:
        session = connection.session("S")

        async def answer() -> None:
            command = await transport.next_command()
            assert command["sessionId"] == "S"
            bound = {"name": "b", "payload": "p", "executionContextId": 1}
            transport.say({"method": "Runtime.bindingCalled", "params": bound, "sessionId": "S"})
            transport.say({"method": "Runtime.bindingCalled", "params": {"name": "b"}, "sessionId": "S"})
            transport.say({"id": command["id"], "result": {"result": {"type": "number", "value": 2}}})

        nursery.start_soon(answer)
        with session.subscribe(runtime.BindingCalled) as events:
            result = await session.execute(runtime.Evaluate("1+1"))
            assert result.result.value == 2
            assert await anext(events) == runtime.BindingCalled("b", "p", 1)
            with pytest.raises(BadMessage, match=r"Runtime\.bindingCalled\.payload: missing"):
                await anext(events)
