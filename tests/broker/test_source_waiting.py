"""C-078 and C-079 on a clock that jumps."""

from __future__ import annotations

from random import Random

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock

from broker.errors import AuthRequired, CompanionOffline, GatewayError, RateLimited
from broker.notebooks import KINDS, STATES, Source
from broker.source_waiting import APPEARS_WITHIN_S, Settled, wait_until_settled

ID = "5e000000-0000-4000-8000-000000000001"

Answer = int | GatewayError | None
"""The service's state number, no row, or no answer."""


def source(state_code: int, kind_code: int = 3) -> Source:
    kind = KINDS.get(kind_code, "unknown")
    return Source(ID, "Plan", kind, kind_code, STATES.get(state_code, "unknown"), state_code)


class Service:
    """Gives one answer after the other, the last for good, and notes when it was asked."""

    def __init__(self, *answers: Answer, kind_code: int = 3, answers_after_s: float = 0.0) -> None:
        self._answers = list(answers)
        self._kind_code = kind_code
        self._answers_after_s = answers_after_s
        self.at: list[float] = []
        self.said: list[str] = []

    async def read(self) -> Source | None:
        self.at.append(trio.current_time())
        await trio.sleep(self._answers_after_s)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, GatewayError):
            raise answer
        return None if answer is None else source(answer, self._kind_code)

    async def say(self, text: str) -> None:
        await trio.lowlevel.checkpoint()
        self.said.append(text)

    async def wait(self, for_s: float = 45.0, seed: int = 1) -> Settled:
        return await wait_until_settled(
            self.read, rng=Random(seed), deadline_s=trio.current_time() + for_s, say=self.say
        )


PROCESSING, READY, FAILED, PREPARING = 1, 2, 3, 5
AUDIO_VIDEO = 10


async def test_c078_ready_at_once_is_said_at_once(autojump_clock: MockClock) -> None:
    service = Service(READY)
    assert await service.wait() == Settled("ready", source(READY), 0.0)
    assert len(service.at) == 1
    assert service.said == []


async def test_c078_an_error_at_once_is_said_at_once_with_the_source(autojump_clock: MockClock) -> None:
    service = Service(FAILED)
    assert await service.wait() == Settled("failed", source(FAILED), 0.0)


@pytest.mark.parametrize("state_code", [PROCESSING, PREPARING, 42])
async def test_c078_what_never_becomes_ready_ends_at_the_deadline_with_the_source(
    autojump_clock: MockClock, state_code: int
) -> None:
    """42 is a number that this build does not know: shown as unknown, never as ready."""
    settled = await Service(state_code).wait()
    assert settled == Settled("processing", source(state_code), 45.0)
    assert settled.source is not None
    assert settled.source.state in ("processing", "preparing", "unknown")


async def test_c078_ready_after_twenty_looks(autojump_clock: MockClock) -> None:
    service = Service(*[PREPARING] * 5, *[PROCESSING] * 15, READY)
    settled = await service.wait(for_s=100.0)
    assert (settled.kind, len(service.at)) == ("ready", 21)
    assert settled.elapsed_s == service.at[-1] - service.at[0]


@pytest.mark.parametrize("state_code", [PROCESSING, PREPARING])
async def test_c078_a_row_that_disappears_is_gone_at_once(autojump_clock: MockClock, state_code: int) -> None:
    service = Service(state_code, None, READY)
    settled = await service.wait()
    assert (settled.kind, settled.source) == ("gone", source(state_code))
    assert len(service.at) == 2


async def test_a_list_that_lags_behind_the_add_is_given_time(autojump_clock: MockClock) -> None:
    assert (await Service(None, None, PROCESSING, READY).wait()).kind == "ready"


async def test_a_row_that_never_appears_is_gone_after_a_while(autojump_clock: MockClock) -> None:
    settled = await Service(None).wait()
    assert (settled.kind, settled.source) == ("gone", None)
    assert APPEARS_WITHIN_S <= settled.elapsed_s < APPEARS_WITHIN_S + 5


async def test_a_row_that_never_appears_before_an_early_deadline_may_still_come(autojump_clock: MockClock) -> None:
    assert await Service(None).wait(for_s=5.0) == Settled("processing", None, 5.0)


@pytest.mark.parametrize("seed", range(5))
async def test_c078_looks_are_spread_and_at_most_about_one_per_second(autojump_clock: MockClock, seed: int) -> None:
    service = Service(PROCESSING)
    await service.wait(for_s=600.0, seed=seed)
    pauses = [later - earlier for earlier, later in zip(service.at, service.at[1:], strict=False)]
    assert 600 / len(service.at) > 1.0
    assert max(pauses) <= 4.0
    assert len({round(pause, 3) for pause in pauses}) > len(pauses) / 2


async def test_state_and_elapsed_time_are_told_after_each_look(autojump_clock: MockClock) -> None:
    service = Service(None, PREPARING, PROCESSING, READY)
    await service.wait()
    assert [text.rsplit(" after ", 1)[0] for text in service.said] == ["not listed yet", "preparing", "processing"]
    for text, at in zip(service.said, service.at, strict=False):
        assert text.endswith(f" after {at - service.at[0]:.0f} s")


async def test_c079_audio_passes_through_the_number_of_failure(autojump_clock: MockClock) -> None:
    service = Service(PROCESSING, FAILED, FAILED, PROCESSING, READY, kind_code=AUDIO_VIDEO)
    settled = await service.wait()
    assert (settled.kind, len(service.at)) == ("ready", 5)
    assert service.said[1].startswith("being transcribed, or failed after ")


async def test_c079_a_pdf_has_failed_at_the_first_3(autojump_clock: MockClock) -> None:
    service = Service(PROCESSING, FAILED, READY)
    settled = await service.wait()
    assert (settled.kind, len(service.at)) == ("failed", 2)


async def test_c079_a_video_that_stays_at_3_ends_at_the_deadline(autojump_clock: MockClock) -> None:
    settled = await Service(FAILED, kind_code=AUDIO_VIDEO).wait()
    assert settled == Settled("processing", source(FAILED, AUDIO_VIDEO), 45.0)


async def test_a_slow_look_is_given_up_at_the_deadline(autojump_clock: MockClock) -> None:
    assert await Service(READY, answers_after_s=60.0).wait() == Settled("processing", None, 45.0)


async def test_a_deadline_that_has_passed_ends_the_wait_without_a_word(autojump_clock: MockClock) -> None:
    service = Service(READY)
    assert await service.wait(for_s=-1.0) == Settled("processing", None, 0.0)


async def test_a_passing_trouble_does_not_end_the_wait(autojump_clock: MockClock) -> None:
    service = Service(PROCESSING, CompanionOffline("Nobody there."), READY)
    settled = await service.wait()
    assert (settled.kind, settled.trouble) == ("ready", None)
    assert service.said[1].startswith("cannot be looked at now (COMPANION_OFFLINE)")


async def test_a_service_that_asks_for_a_pause_gets_it(autojump_clock: MockClock) -> None:
    service = Service(RateLimited("Too many.", details={"retry_after_s": 20}), READY)
    assert (await service.wait()).kind == "ready"
    assert service.at[1] - service.at[0] >= 20


async def test_a_trouble_that_stays_ends_the_wait_and_is_told_beside_the_last_row(autojump_clock: MockClock) -> None:
    trouble = AuthRequired("Signed out.")
    service = Service(PROCESSING, trouble)
    settled = await service.wait()
    assert (settled.kind, settled.source, settled.trouble) == ("processing", source(PROCESSING), trouble)
    assert len(service.at) == 2


async def test_a_caller_who_leaves_is_not_kept(autojump_clock: MockClock) -> None:
    with trio.move_on_after(3) as scope:
        await Service(PROCESSING).wait()
    assert scope.cancelled_caught


async def test_the_last_row_is_the_newest_one(autojump_clock: MockClock) -> None:
    renamed = evolve(source(READY), title="Renamed")
    rows = [source(PROCESSING), renamed]

    async def read() -> Source | None:
        await trio.lowlevel.checkpoint()
        return rows.pop(0)

    settled = await wait_until_settled(
        read, rng=Random(1), deadline_s=trio.current_time() + 45.0, say=Service(READY).say
    )
    assert settled.source == renamed
