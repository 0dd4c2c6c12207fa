from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
import trio
from trio.testing import MockClock

from broker.errors import NotFound, SourceNotReady
from broker.notebooks import Notebook, Source, State
from broker.readiness import PATIENCE_S, maybe_scope, wait_for_scope


def source(number: int, state: State, kind: str = "pdf") -> Source:
    return Source(f"5e000000-0000-4000-8000-{number:012}", f"Source {number}", kind, 3, state, 2)


def notebook(*sources: Source) -> Notebook:
    return Notebook("nb", "Plan", None, "owner", False, None, None, sources)


ONE, TWO, THREE = source(1, "ready"), source(2, "failed"), source(3, "processing")
MIXED = notebook(ONE, TWO, THREE)


class Reader:
    """Gives one notebook after the other, the last for good, and notes when it was asked."""

    def __init__(self, *notebooks: Notebook) -> None:
        self._notebooks = list(notebooks)
        self.at: list[float] = []

    async def __call__(self) -> Notebook:
        await trio.lowlevel.checkpoint()
        self.at.append(trio.current_time())
        return self._notebooks.pop(0) if len(self._notebooks) > 1 else self._notebooks[0]


def ids(sources: Sequence[Source]) -> list[str]:
    return [each.id for each in sources]


def test_c080_a_stuck_source_elsewhere_does_not_block_a_scoped_question():
    scope = maybe_scope(MIXED, [ONE.id])
    assert scope is not None
    assert scope.sources == (ONE,)
    assert scope.left_out == ()


@pytest.mark.parametrize("wanted", [[TWO.id], [ONE.id, TWO.id], [THREE.id, TWO.id]])
def test_c080_a_failed_source_is_named(wanted: list[str]):
    with pytest.raises(SourceNotReady, match=TWO.id) as caught:
        maybe_scope(MIXED, wanted)
    assert not caught.value.retryable
    assert caught.value.started is False


def test_c080_an_unknown_id_is_not_found():
    with pytest.raises(NotFound, match="unknown"):
        maybe_scope(MIXED, [ONE.id, "unknown"])


def test_c080_without_ids_all_ready_sources_are_asked_and_the_others_named():
    """Our documented rule."""
    scope = maybe_scope(MIXED, None)
    assert scope is not None
    assert scope.sources == (ONE,)
    assert scope.left_out == (TWO, THREE)


def test_the_same_id_twice_is_asked_once():
    scope = maybe_scope(MIXED, [ONE.id, ONE.id])
    assert scope is not None
    assert scope.sources == (ONE,)


def test_an_empty_notebook_and_one_whose_sources_all_failed_cannot_be_asked():
    with pytest.raises(SourceNotReady, match="no sources"):
        maybe_scope(notebook(), None)
    with pytest.raises(SourceNotReady, match=TWO.id):
        maybe_scope(notebook(TWO), None)


@pytest.mark.parametrize("state", ["processing", "preparing", "unknown"])
def test_c078_a_state_that_is_not_ready_is_waited_for(state: State):
    assert maybe_scope(notebook(source(1, state)), None) is None
    assert maybe_scope(notebook(source(1, state)), [source(1, state).id]) is None


def test_c079_failed_is_not_final_while_audio_is_transcribed():
    assert maybe_scope(notebook(source(1, "failed", "audio_video")), None) is None


async def test_waiting_ends_when_the_source_is_ready(autojump_clock: MockClock):
    reader = Reader(notebook(THREE), notebook(THREE), notebook(source(3, "ready")))
    scope = await wait_for_scope(reader, [THREE.id], rng=Random(1))
    assert ids(scope.sources) == [THREE.id]
    assert len(reader.at) == 3


async def test_a_ready_source_is_not_waited_for(autojump_clock: MockClock):
    reader = Reader(MIXED)
    await wait_for_scope(reader, [ONE.id], rng=Random(1))
    assert len(reader.at) == 1
    assert trio.current_time() == reader.at[0]


async def test_a_source_that_fails_while_waited_for_ends_the_wait(autojump_clock: MockClock):
    with pytest.raises(SourceNotReady) as caught:
        await wait_for_scope(Reader(notebook(THREE), notebook(source(3, "failed"))), [THREE.id], rng=Random(1))
    assert not caught.value.retryable


async def test_a_source_that_disappears_is_not_found(autojump_clock: MockClock):
    with pytest.raises(NotFound):
        await wait_for_scope(Reader(notebook(THREE), notebook()), [THREE.id], rng=Random(1))


@pytest.mark.parametrize("seed", range(5))
async def test_c078_waiting_is_bounded_and_looks_at_most_about_once_per_second(seed: int, autojump_clock: MockClock):
    reader = Reader(MIXED)
    started_at = trio.current_time()
    with pytest.raises(SourceNotReady, match="after 60 s") as caught:
        await wait_for_scope(reader, [ONE.id, THREE.id], rng=Random(seed))
    assert trio.current_time() - started_at == PATIENCE_S
    assert caught.value.retryable
    assert caught.value.details["sources"] == [{"id": THREE.id, "state": "processing"}]
    assert 5 <= len(reader.at) <= PATIENCE_S
