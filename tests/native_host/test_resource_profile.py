from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native_host.resource_profile import (
    EMPTY,
    BadProfile,
    ResourceProfile,
    as_ranges,
    limits_of,
    parse_profile,
    read_profile,
)

IN_A_CHILD = """
import json, os, subprocess, sys
from native_host.resource_profile import apply_profile, limits_of, parse_profile
problems = apply_profile(parse_profile(json.loads(sys.argv[1])))
grandchild = "import os, json; from native_host.resource_profile import *; print(json.dumps(limits_of(os.getpid())))"
inherited = json.loads(subprocess.check_output([sys.executable, "-P", "-c", grandchild]))
print(json.dumps({"problems": problems, "own": limits_of(os.getpid()), "inherited": inherited}))
"""


def applied(**table: object) -> dict[str, object]:
    """Apply a profile in a process of its own; return what /proc says of it and of a child that it has."""
    command = [sys.executable, "-P", "-c", IN_A_CHILD, json.dumps(table)]
    answer: dict[str, object] = json.loads(subprocess.check_output(command))
    return answer


def test_a_whole_profile_is_read() -> None:
    profile = parse_profile({"cpus": "0-2, 5", "memory_mb": 4096, "nice": 5})
    assert profile == ResourceProfile(frozenset({0, 1, 2, 5}), 4096, 5)
    assert not parse_profile({})


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ([], "must be a table"),
        ({"cpu": "0"}, "unknown key 'cpu'"),
        ({"cpus": "a"}, "resources.cpus"),
        ({"cpus": [0]}, "resources.cpus"),
        ({"cpus": ""}, "resources.cpus"),
        ({"cpus": "3-1"}, "runs backwards"),
        ({"memory_mb": 511}, "from 512"),
        ({"memory_mb": True}, "resources.memory_mb"),
        ({"nice": -1}, "from 0 to 19"),
        ({"nice": 20}, "from 0 to 19"),
        ({"nice": 1.5}, "resources.nice"),
    ],
)
def test_a_value_that_the_key_does_not_take_is_named(table: object, named: str) -> None:
    with pytest.raises(BadProfile, match=named):
        parse_profile(table)


@given(st.frozensets(st.integers(0, 300), min_size=1))
def test_processors_are_shown_as_they_can_be_written(cpus: frozenset[int]) -> None:
    assert parse_profile({"cpus": as_ranges(cpus)}).cpus == cpus


@pytest.mark.parametrize("text", [None, "account = 5", "resources = 3", "resources = [", "[resources]\ncpus = 5"])
def test_a_file_without_a_usable_profile_limits_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "config.toml").write_text(text)
    assert read_profile(tmp_path) == EMPTY


def test_the_profile_of_a_home_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('account = "a@b"\n[resources]\nnice = 3\n')
    assert read_profile(tmp_path) == ResourceProfile(nice=3)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_set_stands_in_proc_and_is_inherited() -> None:
    cpu = min(os.sched_getaffinity(0))
    answer = applied(cpus=str(cpu), memory_mb=1024, nice=7)
    expected = {"cpus": str(cpu), "memory_mb": 1024, "nice": 7}
    assert answer == {"problems": [], "own": expected, "inherited": expected}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_processors_that_are_not_there_are_left_out_and_a_mask_of_none_is_told() -> None:
    before = limits_of(os.getpid())
    assert before is not None
    assert applied(cpus="0-4000")["own"] == before
    answer = applied(cpus="3999")
    assert answer["own"] == before
    assert answer["problems"] == ["resources.cpus: none of the processors 3999 can be used here"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_tighter_already_stays() -> None:
    tighten = "import os, resource; os.nice(9); resource.setrlimit(resource.RLIMIT_DATA, (900 << 20, 900 << 20))\n"
    command = [sys.executable, "-P", "-c", tighten + IN_A_CHILD, json.dumps({"memory_mb": 2048, "nice": 2})]
    own = json.loads(subprocess.check_output(command))["own"]
    assert (own["memory_mb"], own["nice"]) == (900, 9)


def test_of_a_process_that_is_gone_nothing_is_said() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert limits_of(ended.pid) is None
