"""The nursery under a resource changes nothing about what its user's block raises."""

import pytest
import trio

from cdp.tasks import background_nursery


async def test_the_users_own_exception_leaves_unwrapped():
    with pytest.raises(KeyError):
        async with background_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise KeyError("mine")


async def test_an_outer_cancel_does_not_let_the_code_after_the_block_run():
    after = False
    with trio.CancelScope() as outer:
        async with background_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            outer.cancel()
            await trio.sleep_forever()
        after = True  # pyright: ignore[reportUnreachable]  # the very point
    assert outer.cancelled_caught
    assert not after


async def test_leaving_the_block_ends_the_tasks():
    async with background_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)


async def test_a_task_that_fails_is_not_hidden():
    with pytest.raises(ExceptionGroup) as caught:
        async with background_nursery() as nursery:
            nursery.start_soon(_fail)
            await trio.sleep_forever()
    assert caught.group_contains(ZeroDivisionError)


async def _fail() -> None:
    raise ZeroDivisionError
