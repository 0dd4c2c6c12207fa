"""Reading a source: the states it goes through, in real time or look by look (wire reference §4.2).

    5 preparing (a file without bytes) -> 1 processing -> 2 ready, or 3 failed

Times are short so that tests are; a ``Reading`` says otherwise.
"""

from __future__ import annotations

from typing import Final

import attrs

from harness.emulator.model import Notebook, Reading, Source
from harness.emulator.state import ServiceState

TEXT_READ_S: Final = 0.05
PAGE_READ_S: Final = 0.15
FILE_READ_S: Final = 0.25


def start_reading(state: ServiceState, source: Source, reading: Reading, seconds: float) -> float | None:
    """Let the service read a source that is in the list already.

    Args:
        seconds: what its kind takes.

    Returns:
        How long it will take, in seconds; null when it never ends or goes by a script.
    """
    reading = attrs.evolve(reading)  # a mark of its own: only this reading ends what it began
    source.reading, source.looks = reading, 0
    if reading.script:
        _show(state, source, reading.script[0])
        return None
    state.set_source_state(source, reading.meanwhile)
    if reading.never_ends:
        return None

    def end() -> None:
        if source.reading is reading:
            source.reading = None
            source.failure = reading.reason
            state.set_source_state(source, reading.outcome)

    takes_s = seconds if reading.seconds is None else reading.seconds
    state.later(takes_s, end)
    return takes_s


def look_at(state: ServiceState, notebook: Notebook) -> None:
    """Count a look at a notebook: sources that go by a script show their next state."""
    for source in list(notebook.sources):
        if source.reading is None or not source.reading.script:
            continue
        script = source.reading.script
        _show(state, source, script[min(source.looks, len(script) - 1)])
        source.looks += 1


def _show(state: ServiceState, source: Source, number: int | None) -> None:
    if number is None:
        state.remove_source(source.id)
    elif number != source.state:
        state.set_source_state(source, number)
