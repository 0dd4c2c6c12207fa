import trio
from trio.testing import wait_all_tasks_blocked

from broker.parking import park, wake
from broker.pending import OpenCall
from broker.spans import OpenSpan

SPAN = OpenSpan("request", "rpc", "00-x", None)


def call() -> OpenCall:
    return OpenCall(1, "rpc", 9.0, SPAN, is_stream=False)


async def test_the_waiting_task_runs_again_when_it_is_woken(nursery: trio.Nursery) -> None:
    waited = call()
    nursery.start_soon(park, waited)
    await wait_all_tasks_blocked()
    assert waited.task is not None
    wake(waited)
    await wait_all_tasks_blocked()
    assert waited.task is None
    assert not nursery.child_tasks


async def test_waking_a_call_for_which_nobody_waits_does_nothing() -> None:
    wake(call())


async def test_a_task_that_is_being_cancelled_is_not_woken_a_second_time() -> None:
    """Between the cancellation and the task's next step, an answer may arrive."""
    waited = call()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(park, waited)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        wake(waited)
        wake(waited)
    assert waited.task is None


async def test_a_cancellation_after_the_waking_comes_too_late() -> None:
    waited, ended = call(), list[str]()

    async def wait() -> None:
        await park(waited)
        ended.append("woken")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        wake(waited)
        nursery.cancel_scope.cancel()
    assert ended == ["woken"]
