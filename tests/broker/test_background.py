import pytest
import trio

from broker.background import open_background_nursery


async def test_an_error_of_the_body_passes_as_it_is() -> None:
    cause = KeyError("why")
    with pytest.raises(LookupError) as caught:
        async with open_background_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise LookupError("what") from cause
    assert caught.value.__cause__ is cause


async def test_a_group_made_by_the_body_stays_a_group() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with open_background_nursery():
            raise ExceptionGroup("two", [ValueError(1), ValueError(2)])
    assert [error.args for error in caught.value.exceptions] == [(1,), (2,)]


async def test_cancelled_helpers_with_nurseries_of_their_own_do_not_wrap_the_error_of_the_body() -> None:
    async def helper(started: trio.Event) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)
            started.set()

    with trio.CancelScope() as scope, pytest.raises(LookupError):
        async with open_background_nursery() as nursery:
            started = trio.Event()
            nursery.start_soon(helper, started)
            await started.wait()
            scope.cancel()
            raise LookupError("what")


async def test_helpers_end_with_the_context_and_cancellation_passes() -> None:
    with trio.CancelScope() as scope:
        async with open_background_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    async with open_background_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
