"""How much of the machine our programs may take: processors, memory, priority (ADR-008). Standard library only.

A process sets its own limits right after its start, before it has threads; its children inherit them, so the keeper's
hold for the managed Chrome, and Chrome's for the native host. On macOS there is no processor mask to set.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from native_host.paths import config_file

KEYS: Final = ("cpus", "memory_mb", "nice")
MIN_MEMORY_MB: Final = 512
"""Below this Chromium does not start (measured: 256 aborts, 512 works)."""
MAX_NICE: Final = 19
MEGABYTE: Final = 1024 * 1024
_RANGES: Final = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*")


class BadProfile(ValueError):
    """The table is no resource profile; the message names the key."""


@dataclass(frozen=True)
class ResourceProfile:
    """What `[resources]` of config.toml asks for. None leaves a thing as the process found it."""

    cpus: frozenset[int] | None = None
    memory_mb: int | None = None
    """Ceiling of one process's own data (``RLIMIT_DATA``), not of all together."""
    nice: int | None = None

    def __bool__(self) -> bool:
        return self != ResourceProfile()


EMPTY: Final = ResourceProfile()


def parse_profile(table: object) -> ResourceProfile:
    """Return the profile in a TOML table.

    Raises:
        BadProfile: an unknown key, or a value that the key does not take.
    """
    if not isinstance(table, dict):
        raise BadProfile(f"'resources' must be a table, not {table!r}")
    fields = cast("dict[str, object]", table)
    unknown = sorted(fields.keys() - set(KEYS))
    if unknown:
        raise BadProfile(f"unknown key {unknown[0]!r} in 'resources'; known keys: {', '.join(KEYS)}")
    return ResourceProfile(
        cpus=None if "cpus" not in fields else _cpus(fields["cpus"]),
        memory_mb=_number(fields, "memory_mb", MIN_MEMORY_MB, 1 << 20),
        nice=_number(fields, "nice", 0, MAX_NICE),
    )


def _cpus(value: object) -> frozenset[int]:
    if not isinstance(value, str) or not _RANGES.fullmatch(value.replace(" ", "")):
        raise BadProfile(f"'resources.cpus' must be numbers and ranges such as \"0-3,6\", not {value!r}")
    chosen: set[int] = set()
    for part in value.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise BadProfile(f"'resources.cpus': the range {part!r} runs backwards")
        chosen.update(range(int(first), int(last or first) + 1))
    return frozenset(chosen)


def _number(fields: dict[str, object], key: str, least: int, most: int) -> int | None:
    value = fields.get(key)
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise BadProfile(f"'resources.{key}' must be a whole number from {least} to {most}, not {value!r}")
    return value


def read_profile(home: Path) -> ResourceProfile:
    """Return the profile of `home`; an empty one where there is none.

    A file that is broken gives an empty one too: whoever reads the whole of it says what is wrong, and nothing that a
    person wrote may keep a program from starting.
    """
    try:
        data = config_file(home).read_bytes()
        if b"resources" not in data:
            return EMPTY
        import tomllib  # most files have no profile, and the parser costs a start some milliseconds

        return parse_profile(tomllib.loads(data.decode()).get("resources", {}))
    except (OSError, ValueError):
        return EMPTY


def apply_profile(profile: ResourceProfile) -> list[str]:
    """Give this process, and the children it will have, the profile's limits; return what could not be done, in words.

    Limits are only ever tightened: a process that was started with less stays there.
    """
    problems: list[str] = []
    if profile.cpus is not None:
        problems += _set_cpus(profile.cpus)
    if profile.memory_mb is not None:
        wanted = profile.memory_mb * MEGABYTE
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limits = [limit for limit in (soft, hard, wanted) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard if hard != resource.RLIM_INFINITY else wanted))
    if profile.nice is not None and os.getpriority(os.PRIO_PROCESS, 0) < profile.nice:
        os.setpriority(os.PRIO_PROCESS, 0, profile.nice)
    return problems


def _set_cpus(wanted: frozenset[int]) -> list[str]:
    if sys.platform == "darwin":
        return ["resources.cpus: macOS has no processor mask that a program can set"]
    usable = os.sched_getaffinity(0) & wanted
    if not usable:
        # A mask of processors that this machine lacks must not keep anybody from working.
        return [f"resources.cpus: none of the processors {as_ranges(wanted)} can be used here"]
    os.sched_setaffinity(0, usable)
    return []


def limits_of(pid: int) -> dict[str, object] | None:
    """Return the limits that a running process has, for `status`: ``cpus``, ``memory_mb`` (None: no ceiling), ``nice``.

    None when there is no such process, or no /proc to look at (macOS).
    """
    try:
        limits = Path(f"/proc/{pid}/limits").read_text()
        status = Path(f"/proc/{pid}/status").read_text()
        nice = os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return None
    data = re.search(r"^Max data size +(\S+)", limits, re.MULTILINE)
    cpus = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.MULTILINE)
    return {
        "cpus": cpus[1] if cpus else None,
        "memory_mb": int(data[1]) // MEGABYTE if data and data[1].isdigit() else None,
        "nice": nice,
    }


def as_ranges(cpus: frozenset[int]) -> str:
    """Return processors the way the person wrote them: ``0-3,6``."""
    parts: list[str] = []
    numbers = sorted(cpus)
    start = 0
    for index, number in enumerate(numbers):
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            first = numbers[start]
            parts.append(str(first) if first == number else f"{first}-{number}")
            start = index + 1
    return ",".join(parts)
