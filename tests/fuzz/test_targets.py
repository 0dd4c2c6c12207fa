"""Each fuzz target, without atheris: its seeds from the field, and damaged ones, keep its invariant."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.target import NAMES, load

READERS_OF_THE_ISSUE = {
    "frames both ways": {"framing", "broker_frames", "host_frames"},
    "batchexecute bodies": {"reply_bodies", "results"},
    "stream chunks": {"answer_streams"},
    "MCP lines": {"mcp_lines"},
    "project file": {"project_files"},
    "allowlist": {"allowlists"},
    "CDP messages": {"cdp_messages"},
    "native messages": {"native_messages"},
    "lines to the browser keeper": {"keeper_lines"},
}


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """One seed with bytes overwritten, taken out, put in or repeated, or another seed's end behind its beginning."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 16)))
        change = draw(st.sampled_from(("overwrite", "repeat", "splice")))
        if change == "overwrite":
            data = data[:start] + draw(st.binary(max_size=8)) + data[end:]
        elif change == "repeat":
            data = data[:end] + data[start:end] * draw(st.integers(1, 40)) + data[end:]
        else:
            data = data[:start] + draw(st.sampled_from(seeds))[start:]
    return data


def test_every_reader_of_strangers_bytes_has_a_target() -> None:
    assert set(NAMES) == set().union(*READERS_OF_THE_ISSUE.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_target_opens_with_its_invariant_and_keeps_it_for_each_seed(name: str) -> None:
    target = load(name)
    assert target.invariant.startswith(("Whatever ", "Each "))
    seeds = list(target.seeds())
    assert seeds
    for seed in (*seeds, b"", b"\0", b"\xff" * 64):
        target.one_input(seed)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_keeps_its_invariant_for_damaged_seeds(name: str) -> None:
    target = load(name)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(damaged([seed for seed in target.seeds() if len(seed) < 16_384]))
    def check(data: bytes) -> None:
        target.one_input(data)

    check()


def test_an_unknown_target_is_named() -> None:
    with pytest.raises(KeyError, match="nothing"):
        load("nothing")
