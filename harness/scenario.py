"""Scenario files: what `notebook-gateway harness run` reads. Pure.

A file is TOML: any number of ``[[scenario]]`` with a ``name``, maybe a ``notebook`` to select first, and
``[[scenario.step]]`` in order. A step does exactly one thing: ``call`` a tool, add a ``fault`` to the service, change
its ``state``, do something to the ``browser``, or ``clear_faults``. docs/harness.md is the reference.
"""

from __future__ import annotations

import tomllib
from typing import Any, Final

from attrs import field, frozen

BROWSER_EVENTS: Final = ("close_tab", "leave_site", "reload_extension", "reload_tab", "stop_worker")
DEFAULT_WITHIN_S: Final = 60.0
WHAT_A_STEP_DOES: Final = ("call", "fault", "state", "browser", "clear_faults")


class BadScenario(ValueError):
    """The file is no scenario file; the message names the place and what may stand there."""


@frozen
class Expectation:
    """What a call has to come to. Without `error` it has to succeed.

    `values` and `contains` are by path inside `result` (of a failure: inside `error`), ``sources.0.title`` for example.
    """

    error: str | None = None
    within_s: float = DEFAULT_WITHIN_S
    values: dict[str, Any] = field(factory=dict[str, Any])
    contains: dict[str, str] = field(factory=dict[str, str])


@frozen
class Step:
    """One step. Exactly one of `WHAT_A_STEP_DOES` is set."""

    call: str | None = None
    arguments: dict[str, Any] = field(factory=dict[str, Any])
    expect: Expectation = field(factory=Expectation)
    fault: dict[str, Any] | None = None
    state: dict[str, Any] | None = None
    browser: str | None = None
    clear_faults: bool | None = None

    @property
    def title(self) -> str:
        """What the step does, in a few words."""
        match self:
            case Step(call=str(tool)):
                return f"call {tool}"
            case Step(fault=dict(fault)):
                return f"fault {fault.get('fault')} on {fault.get('rpc')}"
            case Step(browser=str(event)):
                return f"browser {event}"
            case Step(state=dict(state)):
                return f"state {', '.join(state)}"
            case _:
                return "clear_faults"


@frozen
class Scenario:
    """Steps that share one session on one browser."""

    name: str
    step: list[Step]
    notebook: str | None = None


@frozen
class ScenarioFile:
    """A whole file."""

    scenario: list[Scenario]


def parse_scenarios(text: str) -> list[Scenario]:
    """Return the scenarios of a file.

    Raises:
        BadScenario: no TOML, an unknown or missing key, a wrong type, two scenarios of one name, or a step that does
            nothing or several things.
    """
    from cattrs import BaseValidationError, Converter, transform_error

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadScenario(f"not TOML: {error}") from None
    try:
        scenarios = Converter(forbid_extra_keys=True).structure(document, ScenarioFile).scenario
    except BaseValidationError as error:
        raise BadScenario("; ".join(transform_error(error, path="file"))) from None
    _check_names(scenarios)
    for scenario in scenarios:
        for number, step in enumerate(scenario.step, 1):
            _check_step(step, f"scenario {scenario.name!r}, step {number}")
    return scenarios


def _check_names(scenarios: list[Scenario]) -> None:
    if not scenarios:
        raise BadScenario("the file has no [[scenario]]")
    seen: set[str] = set()
    for scenario in scenarios:
        if scenario.name in seen:
            raise BadScenario(f"two scenarios are called {scenario.name!r}; a report could not tell them apart")
        if not scenario.step:
            raise BadScenario(f"scenario {scenario.name!r} has no [[scenario.step]]")
        seen.add(scenario.name)


def _check_step(step: Step, where: str) -> None:
    done = [name for name in WHAT_A_STEP_DOES if getattr(step, name) not in (None, False)]
    if len(done) != 1:
        found = " and ".join(done) or "nothing"
        raise BadScenario(f"{where}: a step does one of {', '.join(WHAT_A_STEP_DOES)}; this one does {found}")
    if step.call is None and (step.arguments or step.expect != Expectation()):
        raise BadScenario(f"{where}: only a call has arguments and expectations")
    if step.browser is not None and step.browser not in BROWSER_EVENTS:
        raise BadScenario(f"{where}: browser is one of {', '.join(BROWSER_EVENTS)}, not {step.browser!r}")
    if step.expect.within_s <= 0:
        raise BadScenario(f"{where}: within_s is a number of seconds above 0")
